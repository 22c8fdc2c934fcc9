"use strict";
// Keeps the page true: what has changed at the server is exchanged, and nothing that a person types or has opened is lost.
(() => {
  const seen = new Map();
  const parts = () => document.querySelectorAll(".live");
  const changed = () => parts().forEach((part) => seen.has(part.id) || seen.set(part.id, part.innerHTML));
  const folds = (part) => [...part.querySelectorAll("details")];
  // A fold is known by the box that it stands in and by its place there.
  const key = (fold) => {
    const box = fold.closest("[id]");
    return box.id + ":" + [...box.querySelectorAll("details")].filter((other) => other.closest("[id]") === box).indexOf(fold);
  };
  const ages = () => {
    document.querySelectorAll("time").forEach((time) => {
      const s = Math.max(0, Math.round((Date.now() - Date.parse(time.dateTime)) / 1000));
      const say = (n, unit) => n + " " + unit + (n === 1 ? "" : "s") + " ago";
      time.textContent = s < 5 ? "now" : s < 60 ? say(s, "second") : s < 3600 ? say(Math.floor(s / 60), "minute")
        : s < 86400 ? say(Math.floor(s / 3600), "hour") : "on " + time.dateTime.slice(0, 10);
    });
  };
  const exchange = (text) => {
    const page = new DOMParser().parseFromString(text, "text/html");
    parts().forEach((part) => {
      const now = page.getElementById(part.id);
      if (!now || now.innerHTML === seen.get(part.id)) return;
      seen.set(part.id, now.innerHTML);
      const open = new Map(folds(part).map((fold) => [key(fold), fold.open]));
      part.replaceChildren(...now.childNodes);
      folds(part).forEach((fold) => open.has(key(fold)) && (fold.open = open.get(key(fold))));
    });
    document.title = page.title || document.title;
    ages();
  };
  const gone = (is) => document.body.classList.toggle("gone", is);
  const look = async () => {
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      if (answer.ok) exchange(await answer.text());
      gone(false);
    } catch {
      gone(true);
    }
  };
  document.addEventListener("submit", async (event) => {
    event.preventDefault();
    const form = event.target;
    const button = event.submitter;
    const to = (button && button.getAttribute("formaction")) || form.getAttribute("action");
    const said = document.getElementById("said");
    said.textContent = "";
    try {
      const answer = await fetch(to, { method: "POST", body: new URLSearchParams(new FormData(form)) });
      if (!answer.ok) said.textContent = await answer.text();
      else if (to === form.getAttribute("action")) form.querySelector("textarea").value = "";
    } catch (why) {
      said.textContent = String(why);
    }
    await look();
  });
  changed();
  ages();
  if (parts().length) setInterval(look, 1000);
})();
