// The reader's framework, remembered from page to page; boxes that scroll sideways by keyboard too; folds that a link opens.
(() => {
  "use strict";
  const FRAMEWORKS = ["pytorch", "keras"];
  const key = "three-ways-framework";

  const remembered = () => {
    try {
      const found = localStorage.getItem(key);
      return FRAMEWORKS.includes(found) ? found : "";
    } catch {
      return ""; // a browser that stores nothing
    }
  };

  const remember = (track) => {
    try {
      localStorage.setItem(key, track);
    } catch {
      // the page still shows the choice
    }
    show(track);
  };

  const show = (track) => {
    document.body.dataset.framework = track;
    for (const select of document.querySelectorAll(".choice select")) select.value = track;
    for (const links of document.querySelectorAll("p.twins")) {
      const all = [...links.querySelectorAll("a")].sort((a, b) => order(a, track) - order(b, track));
      links.replaceChildren(links.firstElementChild, ...all.flatMap((link, place) => (place ? [" · ", link] : [" ", link])));
    }
  };

  // The framework of the reader first, then the course's own order.
  const order = (link, track) => {
    const name = trackOf(link);
    return name === track ? -1 : ["numpy", ...FRAMEWORKS, "compare"].indexOf(name);
  };

  const trackOf = (link) => {
    const found = [...link.classList].find((name) => name.startsWith("track-"));
    return found ? found.slice("track-".length) : "";
  };

  const reachable = () => {
    for (const box of document.querySelectorAll("pre, .table-wrapper, .cell_output .output, .math, .cell_output div")) {
      const scrolls = box.scrollWidth > box.clientWidth + 1 && ["auto", "scroll"].includes(getComputedStyle(box).overflowX);
      if (scrolls) box.setAttribute("tabindex", "0");
      else if (box.dataset.reachable) box.removeAttribute("tabindex");
      if (scrolls) box.dataset.reachable = "yes";
    }
  };

  // A link to a heading opens the fold of its section, and those around it.
  const unfold = (anchor) => {
    const target = document.getElementById(decodeURIComponent(anchor.slice(1)));
    let fold = target?.closest("section")?.querySelector(":scope > .fold") || target?.closest(".fold");
    if (!fold) return;
    for (; fold; fold = fold.parentElement.closest(".fold")) fold.open = true;
    target.scrollIntoView();
  };

  for (const paragraph of document.querySelectorAll(".choice")) {
    paragraph.hidden = false;
    paragraph.querySelector("select").addEventListener("change", (event) => remember(event.target.value));
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest(".tracks a, p.twins a, .route a");
    if (link && FRAMEWORKS.includes(trackOf(link))) remember(trackOf(link));
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']"); // also where the address is this one already
    if (link) unfold(link.hash);
  });
  window.addEventListener("hashchange", () => unfold(location.hash));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const bar of document.querySelectorAll(".sidebar-toggle:checked")) bar.click(); // closes it
  });
  show(remembered());
  unfold(location.hash);
  reachable();
  window.addEventListener("resize", reachable);
  window.addEventListener("load", reachable);
  window.addEventListener("pageshow", () => show(remembered())); // back from a page where another was chosen
  document.addEventListener("toggle", reachable, true); // a table that was folded
})();
