// A slide that is too full gets smaller type; nothing is cut off. The factor is what the browser's own fonts need.
const HEIGHT = 720;
const ROOM = 676; // above the line with the title

function fit(section) {
  if (section.dataset.fitted) return;
  for (let size = 28; size >= 16; size -= 1) {
    section.style.fontSize = `${size}px`;
    if (section.scrollHeight <= ROOM && section.scrollWidth <= section.clientWidth) break;
  }
  section.dataset.fitted = section.style.fontSize;
}

Reveal.initialize({
  width: 1280,
  height: HEIGHT,
  margin: 0.02,
  center: false,
  hash: true,
  slideNumber: "c/t",
  transition: "none",
  controlsTutorial: false,
}).then(() => {
  fit(Reveal.getCurrentSlide());
  Reveal.on("slidechanged", (event) => fit(event.currentSlide));
});
