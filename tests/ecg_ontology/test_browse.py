"""The page of the ontology: everything is on it, nothing of it runs, and a real browser shows it."""

import json
import re
import sys
from html import unescape

import pytest

import ecg_ontology
from ecg_base import UsageError
from ecg_ontology import search_concepts
from ecg_ontology.views.browse import page_text, write_page

HOSTILE = '</script><img src=x onerror="document.title=1"><!-- \' & <b>'
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')


@pytest.fixture(scope="module")
def text(onto):
    return page_text(onto)


@pytest.fixture(scope="module")
def articles(text):
    """What stands of each concept, by its place."""
    return dict(re.findall(r'<article id="(c-\d+)".*?>(.*?)</article>', text, re.DOTALL))


def test_every_concept_stands_on_the_page_with_all_that_is_known_of_it(onto, articles):
    assert set(articles) == {f"c-{node.index}" for node in onto.nodes}
    for node in onto.nodes:
        article = unescape(articles[f"c-{node.index}"])
        assert node.label in article
        assert node.iri in article
        for words in (*node.variants, *(n.text for n in (*node.translations, *node.synonyms))):
            assert words in article
        for other, _ in onto.neighbours(node.index):
            assert f'href="#c-{other.index}"' in article


def test_every_code_stands_at_its_leaves_or_its_root_or_among_the_unrouted(onto, text, articles):
    unrouted = re.search(r'<article id="unrouted".*?</article>', text, re.DOTALL)[0]
    for code in onto.codes:
        route = onto.route(code)
        places = [articles[f"c-{index}"] for index in route.leaves or route.nodes] or [unrouted]
        assert all(f"<code>{code}</code>" in place for place in places)
        assert all(unescape(note) in unescape(place) for note in route.notes for place in places)


def test_an_erratum_stands_at_the_concepts_that_it_names(onto, text, articles):
    places = (articles[f"c-{onto.node(name).index}"] for name in ("STE", "AF"))
    ste, af = (re.findall(r'href="#e-(E\d+)"', place) for place in places)
    assert {"E02", "E05"} <= set(ste)
    assert af == []
    assert len(re.findall(r'<li id="e-E\d+">', text)) == len(onto.draft.errata)


def test_every_link_leads_to_a_place_on_the_page(text):
    ids = set(re.findall(r' id="([^"]+)"', text))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= ids
    # Sources are followed, never fetched.
    assert not re.search(r'(?:href|src)="(?!#|https://doi\.org/)', text)


def test_texts_are_escaped_wherever_they_stand(onto, tmp_path):
    nodes = tuple(
        node.model_copy(update={"label": HOSTILE, "variants": (HOSTILE,), "abbr": f"{node.abbr}{HOSTILE}"})
        for node in onto.draft.concepts
    )
    rows = tuple(row.model_copy(update={"label": HOSTILE, "reason": HOSTILE}) for row in onto.draft.mappings)
    header = onto.header.model_copy(update={"title": HOSTILE})
    draft = onto.draft.model_copy(update={"concepts": nodes, "mappings": rows, "header": header})
    text = page_text(ecg_ontology.Ontology(draft, checked=True), HOSTILE)
    assert "<img" not in text
    assert text.count("<script") == text.count("</script>") == 2
    assert text.count("<!--") == 1  # the page's own mark
    data = re.search(r'<script type="application/json" id="texts">(.*?)</script>', text, re.DOTALL)[1]
    assert HOSTILE in {words for *_, words in json.loads(data)}


def test_the_page_is_written_in_a_language_and_says_that_it_is_unreviewed(onto, tmp_path):
    text = ecg_ontology.export(onto, tmp_path / "de.html", "de").read_text(encoding="utf-8")
    assert '<span lang="de">Vorhofflimmern</span>' in text
    assert "have not been reviewed clinically" in text
    with pytest.raises(UsageError, match=r"a language needs the format \.html, got \.owl"):
        ecg_ontology.export(onto, tmp_path / "de.owl", "de")


def test_the_picture_of_the_graph_leads_to_every_concept_or_says_what_it_needs(onto, text, monkeypatch):
    picture = re.search(r"<svg.*?</svg>", text, re.DOTALL)[0]
    assert set(re.findall(r'href="#c-(\d+)"', picture)) == {str(node.index) for node in onto.nodes}
    assert all(f">{node.abbr}</text>" in picture for node in onto.nodes)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "The picture needs matplotlib" in page_text(onto)


def test_a_code_says_who_decided_it_and_a_code_of_another_system_that_nobody_reviewed_it(articles):
    item = re.search(r"<li[^>]*><code>164889003</code>.*?</li>", articles["c-5"])[0]
    assert '<span class="tag">marecg:paper</span>' in item
    crosswalk = re.search(r"<li><code>icd10cm:I48.91</code>.*?</li>", articles["c-5"])[0]
    assert "not reviewed clinically" in crosswalk


def test_what_holds_under_one_profile_alone_is_marked_with_it(onto, articles):
    for profile, abbr in (("paper", "Rhythm"), ("curated", "Conduction")):
        article = articles[f"c-{onto.node(abbr).index}"]
        assert f'<li data-profile="{profile}"><code>698252002</code>' in article


# --- in a browser


# A budget of virtual time: the page is dumped after its timers have run, not in the midst of them.
DUMPED = ("--window-size=1280,900", "--virtual-time-budget=2000", "--dump-dom")
QUERIES = [
    *("fibr", "ISCHAEMIA", "verlängertes qt", "Vergrosserung", "164889003", "left axis", "flutter atrial"),
    "qwxy",
]
WIDTHS = (1280, 400, 320)
SCRIPTS = {
    "profile": """
      const shown = () => [...document.querySelectorAll("li[data-profile]")]
        .filter((item) => getComputedStyle(item).display !== "none").map((item) => item.dataset.profile);
      const before = [...new Set(shown())];
      profile.value = "curated"; profile.dispatchEvent(new Event("change"));
      tell([...before, ...new Set(shown())].join(" "));""",
    "misspelt": """
      words.value = "atrial fluter"; words.dispatchEvent(new Event("input"));
      tell(summary.textContent);""",
    "search": f"""
      tell({json.dumps(QUERIES)}.map((query) => {{
        words.value = query; words.dispatchEvent(new Event("input"));
        const shown = [...document.querySelectorAll("main article")].filter((a) => !a.hidden);
        const listed = [...document.querySelectorAll("#hits a")].map((a) => a.hash.slice(1));
        return [listed, shown.map((a) => a.id), summary.textContent];
      }}));""",
    "keyboard": """
      const pressed = (key) => new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
      const press = (key) => document.activeElement.dispatchEvent(pressed(key));
      press("/");
      const first = document.activeElement.id;
      words.value = "infarct"; words.dispatchEvent(new Event("input"));
      press("ArrowDown"); press("ArrowDown"); press("ArrowUp");
      const second = document.activeElement.hash;
      press("ArrowUp");
      const back = document.activeElement.id;
      document.getElementById("search").requestSubmit();
      addEventListener("hashchange", () => setTimeout(() => {
        tell([first, second, back, document.activeElement.id].join(" "));
      }));""",
    "link": """
      const raised = [];
      addEventListener("error", (event) => raised.push(event.message));
      addEventListener("hashchange", () => setTimeout(() => {
        words.value = "flutter"; words.dispatchEvent(new Event("input"));
        tell(location.hash + " " + summary.textContent + " " + raised.join());
      }));
      location.hash = "#%E0%A4%A";""",
    **dict.fromkeys(
        map(str, WIDTHS),
        """
      addEventListener("load", () => {
        tell([document.documentElement.scrollWidth - innerWidth, tree.open]);
      });""",
    ),
}
"""What is done on the page, and what it `tell`s, by a name; a number is the width of the window."""


@pytest.fixture(scope="module")
def told(browse, text, tmp_path_factory):
    """What each of `SCRIPTS` tells in a frame of its own, which has the page without its policy."""
    folder = tmp_path_factory.mktemp("driven")
    frames = []
    for name, script in SCRIPTS.items():
        tell = f"const tell = (what) => parent.postMessage([{json.dumps(name)}, what], '*');"
        page = POLICY.sub("", text).replace("</body>", f"<script>{tell}{script}</script></body>")
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
        width = name if name.isdecimal() else 1280
        frames.append(f'<iframe src="{name}.html" style="border:0;width:{width}px;height:900px"></iframe>')
    listen = (
        "const told = {}; addEventListener('message', ({ data }) => { told[data[0]] = data[1]; "
        "document.body.dataset.told = JSON.stringify(told); });"
    )
    (folder / "frames.html").write_text(
        f"<body><script>{listen}</script>{''.join(frames)}</body>", encoding="utf-8"
    )
    dom = browse(folder / "frames.html", *DUMPED)
    return json.loads(unescape(re.search('data-told="([^"]*)"', dom)[1]))


def test_the_profile_is_switched_on_the_page(told):
    assert told["profile"] == "paper curated"


def test_a_misspelt_word_is_answered_with_what_was_meant(told):
    assert "Did you mean Atrial flutter" in told["misspelt"]


@pytest.fixture(scope="module")
def opened(browse, onto, tmp_path_factory):
    """What the page becomes in a browser, and what the browser prints of it."""
    folder = tmp_path_factory.mktemp("opened")
    page = write_page(onto, folder / "onto.html")
    dom = browse(page, *DUMPED, f"--print-to-pdf={folder / 'onto.pdf'}")
    return dom, (folder / "onto.pdf").read_bytes()


def test_the_page_is_printed_on_fifteen_sheets_at_most(opened):
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", opened[1])) <= 15


def test_the_page_runs_under_its_own_policy_and_offers_the_search(opened, onto):
    dom, _ = opened
    assert '<form role="search" id="search">' in dom  # hidden until the script has run
    assert dom.count("<article") == len(onto) + 3  # the unrouted, the errata, the glossary


def test_a_search_shows_the_same_concepts_in_the_same_order_as_the_command(told, onto):
    for query, (listed, shown, summary) in zip(QUERIES, told["search"], strict=True):
        hits = search_concepts(onto, query)
        places = [f"c-{hit.concept.index}" if hit.concept else "unrouted" for hit in hits]
        assert listed == shown == list(dict.fromkeys(places)), query
        assert summary.startswith(f"{len(shown)} place")


def test_the_page_is_used_by_keyboard_alone(told):
    assert re.fullmatch(r"words #(c-\d+) words \1", told["keyboard"])


def test_a_link_that_is_no_address_breaks_nothing(told):
    assert re.fullmatch(r"#%E0%A4%A \d+ places? found ", told["link"])


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_window_of_a_desk_or_a_phone(told, width):
    over, tree_is_open = told[str(width)]
    assert (over <= 0, tree_is_open) == (True, width > 768)
