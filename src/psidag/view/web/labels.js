// Names beside their vertices, with a rim in the colour of the ground so that edges do not strike them out.

function shorten(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let low = 1;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= room) low = middle;
    else high = middle - 1;
  }
  return `${text.slice(0, low)}…`;
}

function where(data, settings, below) {
  return below ? { x: data.x, y: data.y + data.size + settings.labelSize + 1, align: "center" } : { x: data.x + data.size + 4, y: data.y + settings.labelSize / 3, align: "left" };
}

export function drawLabel(context, data, settings, state) {
  if (!data.label) return;
  context.font = `${data.bold ? 700 : settings.labelWeight} ${settings.labelSize}px ${settings.labelFont}`;
  const text = shorten(context, data.label, state.room);
  const { x, y, align } = where(data, settings, state.below);
  context.textAlign = align;
  context.lineJoin = "round";
  context.lineWidth = 4;
  context.strokeStyle = state.ink.surface;
  context.strokeText(text, x, y);
  context.fillStyle = state.ink.ink;
  context.fillText(text, x, y);
  context.textAlign = "left";
}

export function drawHover(context, data, settings, state) {
  context.beginPath();
  context.arc(data.x, data.y, data.size + 3, 0, 2 * Math.PI);
  context.lineWidth = 2;
  context.strokeStyle = state.ink.chosen;
  context.stroke();
  drawLabel(context, { ...data, bold: true }, settings, { ...state, room: 320 });
}
