/**
 * Is there an order of these operations, each at one instant between its call and its return, in which the lock, used
 * by one after the other, would have answered as it did? Then the history is linearizable; else exclusion is broken.
 *
 * The search is that of J. M. Wing and C. Gong (Testing and verifying concurrent objects, 1993) with the memory of
 * G. Lowe (Testing for linearizability, 2017): calls and returns stand in a list in the order of time; a call before
 * the first return may come next; one that fits is taken out with its return; a return that is reached means that an
 * earlier choice was wrong. A set of configurations (what is done, and the state) keeps the search from doing
 * anything twice. Porcupine's P-compositionality (A. Athalye, 2017) is the caller's: one search for each key.
 *
 * Steps that may also never happen, such as the end of a lease, stay in the list when another step has ended their lease. The search
 * lifts these out: in a run of an hour there are thousands, and it would pass all of them at each step.
 *
 * In general the problem is NP-complete. Here fencing tokens say which acquisition is the next one, so what remains
 * to be chosen is only when a release or the end of a lease takes place, and the search takes about
 * O(steps · concurrent steps). A history that is broken can take longer: after `maxLooks` the answer is "not shown",
 * which is a failure too.
 */
import type { Model, Step } from './model.js';
import type { History, Release } from './operation.js';
import type { Tenure } from './tenure.js';

interface Entry {
  readonly step: Step;
  /** Undefined for a return. */
  readonly index: number | undefined;
  /** The index of the acquisition of its lease. */
  readonly acquisition: number;
  /** The return of the call, if it has one. */
  exit: Entry | undefined;
  previous: Entry | undefined;
  next: Entry | undefined;
}

/** The first history without an order, or undefined. */
export function whyNotLinearizable<State>(
  tenures: readonly Tenure[],
  model: Model<State>,
  { hasRepeats = false, maxLooks = 50_000_000 }: Pick<History, 'hasRepeats'> & { maxLooks?: number } = {},
): string | undefined {
  const steps = stepsOf(tenures, hasRepeats);
  const head = listOf(steps);
  const done = new DoneSet(steps);
  const seen = new Set<string>();
  /** `lifted`: steps that can't happen any more once the entry has. */
  const choices: { readonly entry: Entry; readonly state: State; readonly lifted: Entry[] }[] = [];
  let required = steps.filter(({ until }) => until < Infinity).length;
  let state = model.initial;
  let entry = head.next;
  let looks = 0;
  let furthest = { left: required + 1, at: undefined as Entry | undefined, state };

  while (required > 0) {
    looks += 1;
    if (looks > maxLooks) return `not shown to be linearizable within ${maxLooks} looks`;
    if (entry !== undefined && entry.index !== undefined) {
      const next = model.step(state, entry.step);
      if (next !== undefined) {
        done.add(entry.index);
        const configuration = `${done.key()} ${model.keyOf(next)}`;
        if (!seen.has(configuration)) {
          seen.add(configuration);
          choices.push({ entry, state, lifted: [] });
          state = next;
          if (entry.exit) required -= 1;
          takeOut(entry);
          entry = head.next;
          continue;
        }
        done.delete(entry.index);
      }
      const isOver = !entry.exit && (next === undefined || next === state) && done.has(entry.acquisition);
      if (isOver) {
        unlink(entry);
        choices.at(-1)!.lifted.push(entry);
      }
      entry = entry.next;
      continue;
    }
    // A return: what it belongs to should have happened by now.
    if (required < furthest.left) furthest = { left: required, at: entry, state };
    const choice = choices.pop();
    if (!choice) return explain(furthest.at, model, furthest.state);
    for (const lifted of choice.lifted.toReversed()) link(lifted);
    putBack(choice.entry);
    state = choice.state;
    done.delete(choice.entry.index!);
    if (choice.entry.exit) required += 1;
    entry = choice.entry.next;
  }
  return undefined;
}

function explain<State>(at: Entry | undefined, model: Model<State>, state: State): string {
  if (!at) return 'not linearizable';
  const { kind, tenure, from, until } = at.step;
  return (
    `no order of all operations explains that ${kind} of lease ${tenure.lease} (token ${tenure.fencingToken}) ` +
    `returned at ${until} (called at ${from}); the furthest search had reached ${model.keyOf(state)}`
  );
}

function stepsOf(tenures: readonly Tenure[], hasRepeats: NonNullable<History['hasRepeats']>): Step[] {
  const mayBeRepeated = ({ calledAt, returnedAt }: Release): boolean =>
    typeof hasRepeats === 'boolean'
      ? hasRepeats
      : hasRepeats.some(({ from, to }) => calledAt <= to && returnedAt! >= from);
  const hasTokens = tenures.every(({ fencingToken }) => fencingToken !== undefined);
  return tenures.flatMap((tenure, index) => {
    const { askedAt, grantedAt, release, mayExpireFrom } = tenure;
    const turn = hasTokens ? index : undefined;
    const step = (kind: Step['kind'], outcome: Step['outcome'], from: number, until = Infinity): Step => ({
      kind,
      tenure,
      turn,
      outcome,
      from,
      until,
    });
    const steps = [step('acquire', 'unknown', askedAt, grantedAt)];
    if (release && (release.outcome === 'released' || release.outcome === 'lost')) {
      // The answer to a release that was sent twice says what the second one found.
      if (release.outcome === 'lost' && mayBeRepeated(release))
        steps.push(step('release', 'unknown', release.calledAt));
      steps.push(step('release', release.outcome, release.calledAt, release.returnedAt!));
    } else if (release) {
      steps.push(step('release', 'unknown', release.calledAt));
    }
    if (mayExpireFrom !== undefined) steps.push(step('expire', 'unknown', mayExpireFrom));
    return steps;
  });
}

/** Calls and returns in the order of time; at the same instant calls come first, which allows more orders. */
function listOf(steps: readonly Step[]): Entry {
  const entries: { at: number; entry: Entry }[] = [];
  let acquisition = 0;
  steps.forEach((step, index) => {
    if (step.kind === 'acquire') acquisition = index;
    const exit = step.until < Infinity ? entryOf(step, undefined, acquisition) : undefined;
    entries.push({ at: step.from, entry: entryOf(step, index, acquisition, exit) });
    if (exit) entries.push({ at: step.until, entry: exit });
  });
  entries.sort(
    (a, b) => a.at - b.at || Number(a.entry.index === undefined) - Number(b.entry.index === undefined),
  );
  const head = entryOf(steps[0]!, undefined, 0);
  let last = head;
  for (const { entry } of entries) {
    last.next = entry;
    entry.previous = last;
    last = entry;
  }
  return head;
}

function entryOf(step: Step, index: number | undefined, acquisition: number, exit?: Entry): Entry {
  return { step, index, acquisition, exit, previous: undefined, next: undefined };
}

function takeOut(entry: Entry): void {
  unlink(entry);
  if (entry.exit) unlink(entry.exit);
}

function putBack(entry: Entry): void {
  if (entry.exit) link(entry.exit);
  link(entry);
}

function unlink({ previous, next }: Entry): void {
  previous!.next = next;
  if (next) next.previous = previous;
}

function link(entry: Entry): void {
  entry.previous!.next = entry;
  if (entry.next) entry.next.previous = entry;
}

/**
 * Which of the required steps are done. Nearly all up to some point are, and none far behind it: the key names what
 * differs. Of the others the state tells all that matters: whether they can still do anything.
 */
class DoneSet {
  readonly #isDone: Uint8Array;
  readonly #isRequired: Uint8Array;
  readonly #ahead = new Set<number>();
  #floor = 0;

  constructor(steps: readonly Step[]) {
    this.#isRequired = Uint8Array.from(steps, ({ until }) => Number(until < Infinity));
    this.#isDone = this.#isRequired.map((isRequired) => 1 - isRequired);
    this.#raise();
  }

  has(index: number): boolean {
    return this.#isDone[index] === 1;
  }

  add(index: number): void {
    if (this.#isRequired[index] === 0) return;
    this.#isDone[index] = 1;
    this.#ahead.add(index);
    this.#raise();
  }

  delete(index: number): void {
    if (this.#isRequired[index] === 0) return;
    this.#isDone[index] = 0;
    this.#ahead.delete(index);
    while (this.#floor > index) {
      this.#floor -= 1;
      if (this.#floor !== index && this.#isRequired[this.#floor] === 1) this.#ahead.add(this.#floor);
    }
  }

  key(): string {
    return `${this.#floor}:${[...this.#ahead].toSorted((a, b) => a - b).join()}`;
  }

  #raise(): void {
    while (this.#isDone[this.#floor] === 1) {
      this.#ahead.delete(this.#floor);
      this.#floor += 1;
    }
  }
}
