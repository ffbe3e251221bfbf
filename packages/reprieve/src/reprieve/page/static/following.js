// How does the page stay up to date? Keyframe, then changes; after every interruption it goes on where it was.

import { Refused, sentenceOf } from "./client.js";

const FIRST_WAIT = 300;
const LONGEST_WAIT = 8_000;
const NO_ACCESS = [401, 403]; // of no use until there is another token, or another right

/**
 * @typedef {object} Listener
 * @property {(keyframe: object) => void} keyframe replaces all that is known
 * @property {(message: object) => boolean} changes false if the message does not continue what is known
 * @property {() => void} connected
 * @property {() => void} recorded nothing will change: the server shows a recording
 * @property {(sentence: string, milliseconds: number) => void} lost and when it tries again
 * @property {(sentence: string) => void} ended it does not try again
 */

/** Follows for ever, or until there is no access; a recording has nothing to follow. `retry()` ends a wait. */
export class Following {
  #client;
  #listener;
  #revision = null;
  #isRecording = false;
  #wake = () => {};

  /** @param {import("./client.js").Client} client @param {Listener} listener */
  constructor(client, listener) {
    this.#client = client;
    this.#listener = listener;
  }

  retry() {
    this.#wake();
  }

  async run() {
    for (let wait = FIRST_WAIT; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
      let said = "the server closed the connection";
      try {
        await this.#once(() => { wait = FIRST_WAIT / 2; });
        if (this.#isRecording) return this.#listener.recorded();
      } catch (error) {
        if (error instanceof Refused && NO_ACCESS.includes(error.status)) {
          this.#listener.ended(error.message);
          return;
        }
        said = sentenceOf(error);
      }
      this.#listener.lost(said, wait);
      await new Promise((resolve) => {
        this.#wake = resolve;
        setTimeout(resolve, wait);
      });
    }
  }

  /** One connection; it reloads as often as the server says so. */
  async #once(worked) {
    for (;;) {
      if (this.#revision === null) {
        const keyframe = await this.#client.picture();
        this.#revision = keyframe.revision;
        this.#isRecording = keyframe.mode === "offline";
        this.#listener.keyframe(keyframe);
      }
      if (this.#isRecording) return;
      const stop = new AbortController();
      let reload = false;
      const hear = (event) => {
        if (reload) return;
        const message = JSON.parse(event.data);
        reload = event.type === "reload" || !this.#continues(message);
        if (reload) stop.abort();
      };
      const opened = () => { worked(); this.#listener.connected(); };
      try {
        await this.#client.changes(this.#revision, opened, hear, stop.signal);
      } catch (error) {
        if (!reload) throw error;
      }
      if (!reload) return;
      this.#revision = null;
    }
  }

  #continues(message) {
    if (message.after !== undefined && message.after !== this.#revision) return false;
    this.#revision = message.revision;
    this.#listener.changes(message);
    return true;
  }
}
