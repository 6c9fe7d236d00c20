// reveal.js shows a slide as it is, however long. Here one that is too long goes on, on the next; a piece that is too large by
// itself gets smaller type, so that nothing is cut off; and a slide with nothing but words gets larger type.
const WIDTH = 1280;
const HEIGHT = 720;
const ROOM = 660; // above the line with the title

function divide(section) {
  const hidden = [section.parentElement, section]; // reveal.js shows one slide at a time
  for (const each of hidden) each.style.display = "block"; // to be measured
  const pieces = [...section.children];
  const top = (i) => pieces[i].offsetTop;
  const bottom = (i) => pieces[i].offsetTop + pieces[i].offsetHeight;
  const isCode = (i) => pieces[i]?.querySelector(".jp-InputArea pre") !== null;
  const starts = [0];
  pieces.forEach((piece, i) => {
    // code stays with what it shows, where both have room
    const together = isCode(i) && i + 1 < pieces.length && !isCode(i + 1) && bottom(i + 1) - top(i) <= ROOM;
    const start = starts.at(-1);
    if (i > start && bottom(together ? i + 1 : i) - top(start) > ROOM) starts.push(i);
  });
  for (const each of hidden) each.style.display = "";
  let last = section.parentElement;
  for (const [number, start] of starts.entries()) {
    if (number === 0) continue;
    const stack = document.createElement("section"); // as nbconvert nests them
    const next = document.createElement("section");
    next.append(...pieces.slice(start, starts[number + 1]));
    stack.append(next);
    last.after(stack);
    last = stack;
  }
}

function fit(section) {
  if (section.dataset.fitted) return;
  const words = !section.querySelector("pre, img, table, .jp-OutputArea");
  for (let size = words ? 36 : 28; size >= 16; size -= 1) {
    section.style.fontSize = `${size}px`;
    if (section.scrollHeight <= ROOM + 16 && section.scrollWidth <= section.clientWidth) break;
  }
  section.dataset.fitted = section.style.fontSize;
}

// before reveal.js starts, so that the address of a page names the same slide each time
document.querySelector(".slides").style.width = `${WIDTH}px`;
document.querySelectorAll(".slides > section > section").forEach(divide);
Reveal.initialize({
  width: WIDTH,
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
