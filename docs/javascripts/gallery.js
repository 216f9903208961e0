// The filters of the gallery: a card is shown when every filter that is set agrees with what the card says of its puzzle.
document.addEventListener("DOMContentLoaded", () => {
  const filters = document.querySelector(".filters");
  if (!filters) return;
  const cards = [...document.querySelectorAll(".cards a.card")];
  const wanted = name => filters.querySelector(`[data-filter=${name}]`);
  const update = () => {
    const most = Number(wanted("actions").value);
    filters.querySelector("output").textContent = most;
    for (const card of cards) {
      const says = card.dataset;
      card.hidden =
        (wanted("hidden").checked && says.hidden !== "1") ||
        (wanted("undo").checked && says.undo !== "1") ||
        Number(says.actions) > most ||
        (wanted("chance").value !== "" && says.chance !== wanted("chance").value);
    }
    const shown = cards.filter(card => !card.hidden).length;
    filters.querySelector(".count").textContent = `${shown} of ${cards.length}`;
  };
  filters.addEventListener("input", update);
  filters.hidden = false;
  update();
});
