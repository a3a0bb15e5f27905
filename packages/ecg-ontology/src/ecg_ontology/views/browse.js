"use strict";
// The search of the page. Texts are compared as ecg_ontology.base.text_folding.fold has them; only the query is folded here.
(() => {
  const texts = JSON.parse(document.getElementById("texts").textContent);
  const words = document.getElementById("words");
  const summary = document.getElementById("summary");
  const hits = document.getElementById("hits");
  const tree = document.getElementById("tree");
  const main = document.querySelector("main");
  const articles = [...document.querySelectorAll("main article")];
  const spelt = { "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "ß": "ss" };

  function fold(text) {
    const plain = text.toLowerCase().replace(/[æœøłß]/g, (c) => spelt[c]).normalize("NFKD").replace(/\p{M}/gu, "");
    const parts = plain.replace(/[^\p{L}\p{N}]+/gu, " ").trim().split(" ");
    return parts.map((word) => (word.length >= 5 ? word.replace(/ae|oe/g, "e") : word)).join(" ");
  }

  function fit(wanted, text) {
    if (text === wanted) return 0;
    const parts = text.split(" ");
    const asked = wanted.split(" ");
    if (asked.every((word) => parts.some((part) => part.startsWith(word)))) return 1;
    return asked.every((word) => text.includes(word)) ? 2 : 3;
  }

  function find(wanted) {
    const best = new Map();
    texts.forEach(([place, folded, field, text], order) => {
      const found = fit(wanted, folded);
      const before = best.get(place);
      if (found < 3 && (!before || found < before.found)) best.set(place, { place, found, order, field, text });
    });
    return [...best.values()].sort((a, b) => a.found - b.found || a.order - b.order);
  }

  function pairs(text) {
    return new Set([...text].slice(1).map((letter, at) => text[at] + letter));
  }

  // Labels that share most pairs of letters with what was asked.
  function meant(wanted) {
    const asked = pairs(wanted);
    const alike = texts.filter(([, , field]) => field === "label" || field === "synonym").map(([, folded, , text]) => {
      const here = pairs(folded);
      return [2 * [...here].filter((pair) => asked.has(pair)).length / (here.size + asked.size), text];
    }).filter(([share]) => share > 0.5).sort((a, b) => b[0] - a[0]).slice(0, 3);
    return alike.length ? ". Did you mean " + alike.map(([, text]) => text).join(", ") + "?" : "";
  }

  // Cards are folded, except search results and the target of a link.
  function unfold(article, open) {
    article.querySelectorAll("details").forEach((part) => { part.open = open; });
  }

  function show() {
    const wanted = fold(words.value);
    const found = wanted ? find(wanted) : [];
    const places = new Set(found.map((hit) => hit.place));
    articles.forEach((article) => {
      article.hidden = wanted !== "" && !places.has(article.id);
      unfold(article, places.has(article.id));
    });
    main.append(...(wanted ? found.map((hit) => document.getElementById(hit.place)) : articles));
    hits.replaceChildren(...found.map((hit) => {
      const link = document.createElement("a");
      link.href = "#" + hit.place;
      link.append(document.querySelector("#" + hit.place + " h2").textContent);
      const why = document.createElement("small");
      why.append(hit.field + ": " + hit.text);
      link.append(why);
      const item = document.createElement("li");
      item.append(link);
      return item;
    }));
    const near = wanted && !found.length ? meant(wanted) : "";
    summary.textContent = wanted ? found.length + (found.length === 1 ? " place found" : " places found") + near : "";
    tree.open = wanted === "" && !narrow.matches;
  }

  function step(event) {
    const links = [words, ...hits.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (way && at >= 0 && links[at + way]) {
      event.preventDefault();
      links[at + way].focus();
    } else if (event.key === "Escape" && words.value) {
      words.value = "";
      show();
      words.focus();
    } else if (event.key === "/" && document.activeElement !== words) {
      event.preventDefault();
      words.focus();
    }
  }

  const narrow = matchMedia("(max-width: 48rem)");
  document.getElementById("search").hidden = false;
  document.getElementById("search").addEventListener("submit", (event) => {
    event.preventDefault();
    const first = hits.querySelector("a");
    if (first) first.click();
  });
  function turn() {
    const target = document.getElementById(location.hash.slice(1));
    if (target) {
      const article = target.closest("article");
      if (article) {
        article.hidden = false;
        unfold(article, true);
      }
      target.focus();
      target.scrollIntoView();
    }
  }
  addEventListener("hashchange", turn);
  addEventListener("beforeprint", () => articles.forEach((article) => unfold(article, true)));
  const profile = document.getElementById("profile");
  document.getElementById("switch").hidden = false;
  profile.addEventListener("change", () => { document.body.dataset.shown = profile.value; });
  document.getElementById("graph").open = !narrow.matches;
  addEventListener("keydown", step);
  words.addEventListener("input", show);
  show();
  turn();
})();
