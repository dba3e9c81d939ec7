// A field above the tables of the findings that hides the rows without the typed text.
document.addEventListener("DOMContentLoaded", () => {
  if (!/\/findings\.html$/.test(location.pathname)) return;
  const article = document.querySelector("article");
  const groups = [...article.querySelectorAll("h2")].map((heading) => {
    let table = heading.nextElementSibling;
    while (table && !table.querySelector("table") && table.tagName !== "TABLE") table = table.nextElementSibling;
    return { heading, table, rows: [...table.querySelectorAll("tbody tr")] };
  });
  const field = document.createElement("input");
  field.type = "search";
  field.id = "filter";
  field.placeholder = "Filter: TF014, error, reasoning …";
  field.setAttribute("aria-label", "Filter the findings");
  groups[0].heading.before(field);
  field.addEventListener("input", () => {
    const typed = field.value.toLowerCase();
    for (const { heading, table, rows } of groups) {
      const whole = heading.textContent.toLowerCase().includes(typed);
      for (const row of rows) row.hidden = !whole && !row.textContent.toLowerCase().includes(typed);
      heading.hidden = table.hidden = rows.every((row) => row.hidden);
    }
  });
});
