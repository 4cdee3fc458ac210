/** The states of tasks, in the order of their lives, and their colours. */
import type { Tone } from '../../ui/elements.tsx';

export const STATES = [
  'ready',
  'active',
  'scheduled',
  'retrying',
  'waiting',
  'succeeded',
  'dead',
  'cancelled',
] as const;
export type TaskState = (typeof STATES)[number];

const TONES: Readonly<Record<TaskState, Tone>> = {
  ready: 'busy',
  active: 'good',
  scheduled: 'wait',
  retrying: 'wait',
  waiting: 'quiet',
  succeeded: 'good',
  dead: 'bad',
  cancelled: 'quiet',
};

export function toneOf(state: string): Tone {
  return TONES[state as TaskState] ?? 'quiet';
}

export function isState(text: string | null | undefined): text is TaskState {
  return (STATES as readonly (string | null | undefined)[]).includes(text);
}

/** The states in which an action is possible, as the API has it; the last ones cannot be undone. */
export const ACTION_STATES = {
  retry: ['dead', 'cancelled', 'retrying'],
  promote: ['scheduled', 'retrying'],
  reschedule: ['scheduled', 'ready', 'retrying'],
  'set-priority': ['scheduled', 'ready', 'waiting', 'retrying'],
  cancel: ['scheduled', 'ready', 'waiting', 'retrying', 'active'],
  remove: STATES.filter((state) => state !== 'active'),
} as const satisfies Record<string, readonly TaskState[]>;
export type Action = keyof typeof ACTION_STATES;

export function isPossible(action: Action, state: string): boolean {
  return (ACTION_STATES[action] as readonly string[]).includes(state);
}
