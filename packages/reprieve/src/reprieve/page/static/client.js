// How does the page ask its server? It knows the token, addresses and errors, and nothing of clusters.

const KEPT = "reprieve-token";
const SILENCE = 40_000; // the server gives a sign of life every 15 s

/** An answer that is an error: `message` is a sentence for people. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** The token of the address bar, which it leaves at once; or the one that this tab has kept. */
export function takeToken(location, history, storage) {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const given = fragment.get("token");
  if (given !== null) {
    storage.setItem(KEPT, given);
    fragment.delete("token");
    const left = fragment.toString();
    history.replaceState(null, "", `${location.pathname}${location.search}${left ? `#${left}` : ""}`);
  }
  return storage.getItem(KEPT);
}

/** A token that was typed; this tab keeps it, too. */
export function keepToken(token, storage) {
  storage.setItem(KEPT, token);
}

export class Client {
  #token;
  /** @type {number | null} the moment that questions are about; null is now */
  at = null;

  constructor(token) {
    this.#token = token;
  }

  use(token) {
    this.#token = token;
  }

  picture(at = null) {
    return this.#json(at === null ? "picture" : `picture?at=${at}`);
  }

  /** @param {number | null} at the moment as of which it is told */
  decision(id, at) {
    return this.#json(`decisions/${encodeURIComponent(id)}${at === null ? "" : `?at=${at}`}`);
  }

  history() {
    return this.#json("history");
  }

  /** @param {"pod" | "group" | "decision"} kind */
  why(kind, key) {
    return this.#json(`why${this.#query({ [kind]: key })}`);
  }

  exposure(namespace) {
    return this.#json(`exposure${this.#query(namespace ? { namespace } : {})}`);
  }

  whatif(yaml) {
    return this.#json(`whatif${this.#query({})}`, { method: "POST", body: yaml });
  }

  example() {
    return this.#json(`example${this.#query({})}`);
  }

  apply(yaml) {
    return this.#json("apply", { method: "POST", body: yaml });
  }

  /**
   * Reads changes until the stream ends or the signal aborts.
   * @param {number} after
   * @param {(event: StreamEvent) => void} hear
   */
  async changes(after, opened, hear, signal) {
    const quiet = new AbortController();
    const response = await this.#fetch(`changes?after=${after}`, { signal: AbortSignal.any([signal, quiet.signal]) });
    opened();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const parse = streamParser();
    let alarm = null;
    try {
      for (;;) {
        alarm = setTimeout(() => quiet.abort(new Error("the server was silent for 40 s")), SILENCE);
        const { done, value } = await reader.read();
        clearTimeout(alarm);
        if (done) return;
        for (const event of parse(value)) hear(event);
      }
    } finally {
      clearTimeout(alarm);
      reader.cancel().catch(() => {}); // it may have ended already
    }
  }

  #query(parameters) {
    const all = new URLSearchParams(this.at === null ? parameters : { ...parameters, at: this.at });
    return all.size ? `?${all}` : "";
  }

  async #json(path, options = {}) {
    return (await this.#fetch(path, options)).json();
  }

  async #fetch(path, options) {
    const headers = this.#token ? { Authorization: `Bearer ${this.#token}` } : {};
    const response = await fetch(`api/${path}`, { ...options, headers, credentials: "omit" });
    if (!response.ok) throw new Refused(response.status, await sentence(response));
    return response;
  }
}

async function sentence(response) {
  try {
    return (await response.json()).message ?? `the server answered ${response.status}`;
  } catch {
    return `the server answered ${response.status}`;
  }
}

/** What to say about an error: the server's own sentence, or that it cannot be reached. */
export function sentenceOf(error) {
  if (error instanceof Refused) return error.message;
  if (error instanceof TypeError) return "the server cannot be reached";
  return error.message;
}

// What the bytes of an event stream say: chunks go in, complete events come out.

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
