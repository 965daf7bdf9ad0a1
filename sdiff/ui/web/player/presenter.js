// The stage alone, large, and the list of keys. Refuses to know runs.

function makePresenter(words) {
  const stage = { on: false }, keys = $(".sd-keys");
  let before = null, asked = null, at = null;
  // What the stage covers is out of reach meanwhile; leaving gives the focus back.
  function cover(on) {
    for (let node = root; node !== document.body; node = node.parentElement)
      for (const other of node.parentElement.children) if (other !== node) other.inert = on;
  }
  stage.present = (on) => {
    if (on === stage.on) return;
    stage.on = on;
    root.classList.toggle("sd-presenter", on);
    $(".sd-present").setAttribute("aria-pressed", String(on));
    setText($(".sd-present"), on ? words.presentEnd : words.present);
    cover(on);
    if (on) { before = document.activeElement; $(".sd-play").focus(); }
    else if (before && before.isConnected) before.focus();
  };
  // Opens the list where it is seen, and goes back to where one was.
  stage.help = () => {
    keys.open = !keys.open;
    if (keys.open) {
      [asked, at] = [document.activeElement, [scrollX, scrollY]];
      keys.firstChild.focus({ preventScroll: true });
      keys.scrollIntoView({ block: "nearest" });
    } else {
      document.activeElement.blur();
      if (asked) { asked.focus({ preventScroll: true }); scrollTo(...at); }
      asked = null;
    }
  };
  return stage;
}
