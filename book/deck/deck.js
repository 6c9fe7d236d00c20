// A slide that is too full gets smaller type, so that nothing is cut off, and one with nothing but words gets larger type.
const HEIGHT = 720;
const ROOM = 676; // above the line with the title

function fit(section) {
  if (section.dataset.fitted) return;
  const words = !section.querySelector("pre, img, table, .jp-OutputArea");
  for (let size = words ? 36 : 28; size >= 16; size -= 1) {
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
