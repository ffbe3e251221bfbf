// What do the bytes of an event stream say? Pure: chunks go in, complete events come out.

/** @typedef {{type: string, id: string | null, data: string}} StreamEvent */

/** @returns {(chunk: string) => StreamEvent[]} keeps what is incomplete until the rest arrives */
export function streamParser() {
  let rest = "";
  return (chunk) => {
    const blocks = (rest + chunk).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop() ?? "";
    return blocks.map(eventOf).filter((event) => event !== null);
  };
}

function eventOf(block) {
  const fields = { event: "message", id: null, data: [] };
  for (const line of block.split("\n")) {
    const [name, value] = cut(line);
    if (name === "data") fields.data.push(value);
    else if (name === "event") fields.event = value;
    else if (name === "id") fields.id = value;
  }
  return fields.data.length ? { type: fields.event, id: fields.id, data: fields.data.join("\n") } : null;
}

function cut(line) {
  const colon = line.indexOf(":");
  if (colon < 0) return [line, ""];
  return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
}
