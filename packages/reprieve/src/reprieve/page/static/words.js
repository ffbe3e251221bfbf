// How are numbers, times and states written? Pure.

export const PENDING = 0, RUNNING = 1, LEAVING = 2, MARKED = 3, DONE = 4;

/** A state has a sign as well as a colour. */
export const STATES = [
  { name: "pending", sign: "○" },
  { name: "running", sign: "■" },
  { name: "leaving", sign: "✕" },
  { name: "marked", sign: "◩" },
  { name: "done", sign: "✓" },
];

const NUMBER = new Intl.NumberFormat("en");
const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const MINUTE = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

export const number = (value) => NUMBER.format(value);
export const clock = (seconds) => CLOCK.format(new Date(seconds * 1000));
export const minute = (seconds) => MINUTE.format(new Date(seconds * 1000));

/** With the day, if it is another one than that of `now`. */
export function moment(seconds, now) {
  const [then, today] = [seconds, now].map((time) => DAY.format(new Date(time * 1000)));
  return then === today ? clock(seconds) : `${then} ${clock(seconds)}`;
}

export function plural(count, noun, many = `${noun}s`) {
  return `${number(count)} ${count === 1 ? noun : many}`;
}

/** 90 → "1 min 30 s". */
export function span(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min${whole % 60 ? ` ${whole % 60} s` : ""}`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

/** "nvidia.com/gpu" → "gpu"; "memory" stays. */
export const shortResource = (resource) => resource.slice(resource.lastIndexOf("/") + 1);

/** Amounts are millicores for cpu, MiB for memory, and units for all else. */
export function amount(resource, value) {
  if (resource === "cpu") return `${trimmed(value / 1000)} cpu`;
  if (resource === "memory") return value >= 1024 ? `${trimmed(value / 1024)} GiB` : `${trimmed(value)} MiB`;
  return `${number(value)} ${shortResource(resource)}`;
}

const trimmed = (value) => NUMBER.format(Math.round(value * 10) / 10);

export const percent = (share) => `${Math.round(share * 100)} %`;

/** A name that the server keeps from this reader is empty: its UID stands for it. */
export const shownKey = (key, uid = null) => key || (uid ? `(hidden) ${uid}` : "(name hidden)");

/** gpu-2 before gpu-10. */
export const byName = new Intl.Collator("en", { numeric: true }).compare;

/** @param {Record<string, number> | null | undefined} cost */
export function costWords(cost) {
  if (cost === null || cost === undefined) return null;
  if (typeof cost !== "object") return String(cost);
  return Object.entries(cost)
    .map(([name, value]) => `${spaced(name)} ${value === null ? "unknown" : number(value)}`)
    .join(", ");
}

/** The priority of a victim, and the one with which it was scheduled, where that is another.
 * @param {number | null | undefined} priority @param {number | null | undefined} own */
export function priorityWords(priority, own) {
  if (priority === null || priority === undefined) return "";
  return own === undefined || own === null ? number(priority) : `${number(priority)} (own ${number(own)})`;
}

/** "20 units (1,936 pods)"; versions before v1alpha2 did not count the pods. */
export function sparedWords(units, pods = 0) {
  return pods >= units ? `${plural(units, "unit")} (${plural(pods, "pod")})` : plural(units, "unit");
}

/** "no plan" → "No plan" */
export const sentenceCase = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

/** "HighestPriority" → "highest priority". */
export const spaced = (name) => name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
