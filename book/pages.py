"""What the book adds to Sphinx: the route, the same heading in the other notebooks, folds, formulas as drawings, figures as files."""

import base64
import functools
import hashlib
import html
import json
import re
import shutil
from pathlib import Path

import ziamath
from bs4 import BeautifulSoup
from docutils import nodes
from latex2mathml.converter import convert
from sphinx.builders.epub3 import Epub3Builder
from sphinx.util import logging

ziamath.config.svg2 = False  # outlines where they are used; <use> would need names that are unique on a page
ziamath.config.precision = 1
SIZE = 40  # of a letter in the drawings' own units; with the precision above, to 1/400 of a letter
_IMAGE = re.compile(r'src="data:image/(png|svg\+xml);base64,([A-Za-z0-9+/=\s]+)"')
_DOCTYPE = re.compile(
    rb"<!DOCTYPE[^>\[]*(\[[^\]]*\])?[^>]*>"
)  # what draws needs no network, and an EPUB allows no address there
LONG = 90  # letters; with the sidebars beside it the page is a little wider
# What myst-nb puts around code that is stored hidden; paragraphs can't be in a summary.
_TOGGLE = re.compile(
    r'<summary[^>]*>\s*<p class="collapsed[^"]*">([^<]*)</p>\s*<p class="expanded[^"]*">[^<]*</p>\s*</summary>'
)
_logger = logging.getLogger(__name__)


def anchor(title: str) -> str:
    """What a link calls a heading, in Jupyter and here."""
    return title.replace(" ", "-")


def read_facts(app) -> None:
    app.env.book_facts = json.loads((Path(app.srcdir) / "facts.json").read_text(encoding="utf-8"))


def collect_ids(app, doctree) -> None:
    """The id of each heading of a notebook, in their order."""
    facts = app.env.book_facts["pages"].get(app.env.docname)
    if facts is None:
        return
    found = [section["ids"][0] for section in doctree.findall(nodes.section)]
    if len(found) != len(facts["headings"]):
        _logger.warning(
            f"{app.env.docname}: {len(found)} headings on the page, {len(facts['headings'])} in the notebook"
        )
    app.env.metadata[app.env.docname]["book_ids"] = found


def link_twins(app, doctree, docname) -> None:
    """Below a heading, links to the same place in the other notebooks of the chapter."""
    everything = app.env.book_facts
    facts = everything["pages"].get(docname, {})
    for section, places in zip(list(doctree.findall(nodes.section)), facts.get("twins", ())):
        if not places:
            continue
        links = nodes.paragraph("", "", nodes.inline("", "Also in "), classes=["twins"])
        title = section[0].astext()
        for number, (track, place) in enumerate(places.items()):
            there = facts["tracks"][track]
            name = everything["tracks"][track]
            uri = app.builder.get_relative_uri(docname, there)
            if place >= 0:
                heading = everything["pages"][there]["headings"][place]
                uri += "#" + app.env.metadata[there]["book_ids"][place]
                name += f": {heading}" if heading != title else ""
            links += nodes.Text(" · ") if number else nodes.Text("")
            links += nodes.reference("", name, internal=True, refuri=uri, classes=[f"track-{track}"])
        section.insert(1, links)


def store_images(app, doctree, docname) -> None:
    """Figures become files; in the EPUB, what a notebook shows as HTML becomes XML, without scripts."""
    folder = Path(app.outdir) / "_images"
    up = "../" * docname.count("/")

    def store(found: re.Match) -> str:
        data = _DOCTYPE.sub(b"", base64.b64decode(found[2]))
        name = hashlib.sha256(data).hexdigest()[:20] + {"png": ".png", "svg+xml": ".svg"}[found[1]]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
        return f'src="{up}_images/{name}"'

    for node in list(doctree.findall(nodes.raw)):
        if "html" not in node.get("format", ""):
            continue
        text = node.astext()
        scripted = "<script" in text  # what a script draws keeps what it needs inside
        text = text if scripted and app.builder.name != "epub" else _IMAGE.sub(store, text)
        text = as_xml(text) if app.builder.name == "epub" else text
        node.replace_self(nodes.raw("", text, format="html"))


def fold(app, doctree, docname) -> None:
    """Later sections and answers to predictions are folded; an EPUB, which some readers cannot unfold, shows them."""
    if app.builder.name == "epub":
        return

    def raw(text: str) -> nodes.raw:
        return nodes.raw("", text, format="html")

    for section in list(doctree.findall(nodes.section)):
        if section[0].astext().startswith("Later"):
            section.insert(1, raw("</summary>"))
            section.insert(0, raw('<details class="fold later"><summary>'))
            section.append(raw("</details>"))
    for cell in list(doctree.findall(nodes.container)):
        if cell.get("nb_element") == "cell_code" and "tag_answer" in cell["classes"]:
            cell.insert(0, raw('<details class="fold answer"><summary>Show the answer</summary>'))
            cell.append(raw("</details>"))


def wrap(app, doctree, docname) -> None:
    """Printed sentences that are longer than the page is wide wrap, as in JupyterLab; columns keep their lines, and scroll."""
    for output in doctree.findall(nodes.literal_block):
        long = [line for line in output.astext().splitlines() if len(line) > LONG]
        if "stream" in output["classes"] and long and not any(re.search(r"\S {2,}\S", line) for line in long):
            output["classes"].append("sentences")


def as_xml(text: str) -> str:
    """HTML as the XML that an EPUB must be: every tag closed, and nothing that runs."""
    soup = BeautifulSoup(text, "html.parser")
    for tag in soup.find_all(["script", "template", "style"]):
        tag.decompose()
    for tag in soup.find_all(True):
        for name in [name for name in tag.attrs if name.startswith("on") or name in ("border", "halign")]:
            del tag[name]
    return soup.decode(formatter="minimal")


@functools.cache  # most formulas come more than once
def draw(latex: str, inline: bool, label: bool) -> str:
    """A formula as SVG in the color of its text, sized in em, standing on the line; with a label, the label is its TeX."""
    formula = ziamath.Latex(latex, inline=inline, size=SIZE, color="currentColor")
    svg = formula.svg()
    left, top, width, height = map(float, re.search(r'viewBox="([^"]+)"', svg)[1].split())
    style = f"width:{width / SIZE:.3f}em;height:{height / SIZE:.3f}em;vertical-align:{-(top + height) / SIZE:.3f}em"
    attributes = f'role="img" aria-label="{html.escape(latex)}"' if label else 'aria-hidden="true"'
    body = svg.partition(">")[2]
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{left} {top} {width} {height}" {attributes} style="{style}">{body}'


def formula(translator, node, tag: str) -> None:
    """Write a formula: drawn for the eye, and as MathML for a screen reader; in the EPUB, drawn with its TeX as description."""
    latex = " ".join(node.astext().split())
    inline, epub = tag == "span", translator.builder.name == "epub"
    try:
        drawn = draw(latex, inline, label=epub)
        spoken = (
            "" if epub else f'<span class="spoken">{convert(latex, display="inline" if inline else "block")}</span>'
        )
    except Exception as error:  # of whatever kind: the two libraries have none of their own
        _logger.warning(f"the formula {latex} cannot be drawn: {error!r}", location=node)
        raise nodes.SkipNode from error
    translator.body.append(f'<{tag} class="math notranslate">{drawn}{spoken}</{tag}>' + ("" if inline else "\n"))
    raise nodes.SkipNode


def add_context(app, pagename, templatename, context, doctree) -> None:
    """What book/templates/page.html shows above and below a page."""
    everything = app.env.book_facts
    if app.builder.name == "epub":  # nothing that runs, and the style of a book
        context["body"] = _TOGGLE.sub(r"<summary>\1</summary>", context.get("body", ""))
        context["script_files"] = []
        context["css_files"] = [
            style for style in context["css_files"] if re.search(r"pygments|epub", str(style.filename))
        ]
        return
    facts = everything["pages"].get(pagename, {})

    def link(name: str) -> dict[str, str]:
        return {
            "href": app.builder.get_relative_uri(pagename, name),
            "title": everything["titles"][name],
            "track": everything["pages"].get(name, {}).get("track", ""),
        }

    route = everything["route"].get(pagename, {})
    context["book"] = {
        **facts,
        "previous": [link(name) for name in route.get("previous", ())],
        "next": [link(name) for name in route.get("next", ())],
        "links": {
            track: app.builder.get_relative_uri(pagename, name) for track, name in facts.get("tracks", {}).items()
        },
        "names": everything["tracks"],
        "notebook": f"{pagename.rpartition('/')[2]}.ipynb" if facts else "",
        "epub": f"{app.config.epub_basename}.epub" if pagename == "index" else "",
        "run": app.builder.get_relative_uri(pagename, "index") + "#run-it-yourself",
    }


def copy_files(app, error) -> None:
    """What can be downloaded: the notebooks as they are, beside their pages, and the EPUB."""
    if error is None and app.builder.name == "html":
        root = Path(app.confdir).parent
        for name in app.env.book_facts["pages"]:
            shutil.copyfile(root / f"{name}.ipynb", Path(app.outdir) / f"{name}.ipynb")
        epub = f"{app.config.epub_basename}.epub"
        shutil.copyfile(Path(app.outdir).parent / "epub" / epub, Path(app.outdir) / epub)


class Epub(Epub3Builder):
    """Sphinx' EPUB, which also says which of its pages hold drawings, as the format asks."""

    def build_content(self) -> None:
        super().build_content()
        path = Path(self.outdir) / "content.opf"

        def mark(item: re.Match) -> str:
            drawn = "<svg" in (Path(self.outdir) / item[1]).read_text(encoding="utf-8")
            return item[0].replace(" />", ' properties="svg" />') if drawn else item[0]

        text = re.sub(
            r'<item id="[^"]+" href="([^"]+\.xhtml)" media-type="[^"]*" />', mark, path.read_text(encoding="utf-8")
        )
        path.write_text(text, encoding="utf-8", newline="\n")


def setup(app) -> dict[str, bool]:
    app.add_builder(Epub, override=True)
    app.connect("builder-inited", read_facts)
    app.connect("doctree-read", collect_ids)
    app.connect("doctree-resolved", link_twins)
    app.connect("doctree-resolved", store_images)
    app.connect("doctree-resolved", fold)
    app.connect("doctree-resolved", wrap)
    app.connect("html-page-context", add_context)
    app.connect("build-finished", copy_files)
    app.add_html_math_renderer(
        "drawn",
        (lambda self, node: formula(self, node, "span"), None),
        (lambda self, node: formula(self, node, "div"), None),
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
