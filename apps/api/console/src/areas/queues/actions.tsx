/** What the dialogs of one task and of many have in common: the fields that an action needs. */
import type { JSX } from 'preact';

import { Field } from '../../ui/dialog.tsx';
import type { Action } from './states.ts';

export const ACTION_TITLES: Readonly<Record<Action, string>> = {
  retry: 'Retry',
  promote: 'Run now',
  reschedule: 'Reschedule',
  'set-priority': 'Change priority',
  cancel: 'Cancel',
  remove: 'Delete',
};

/** What was done, after the number of tasks. */
export const ACTION_DONE: Readonly<Record<Action, string>> = {
  retry: 'retried',
  promote: 'made ready',
  reschedule: 'rescheduled',
  'set-priority': 'moved',
  cancel: 'cancelled',
  remove: 'deleted',
};

export function isDanger(action: Action): boolean {
  return action === 'cancel' || action === 'remove';
}

const UNITS_MS = { seconds: 1_000, minutes: 60_000, hours: 3_600_000, days: 86_400_000 } as const;

export function ActionFields(props: {
  readonly action: Action;
  readonly priorities: readonly string[];
}): JSX.Element | null {
  if (props.action === 'reschedule') {
    return (
      <div class="fields">
        <Field label="Run in">
          <input name="amount" type="number" min="0" step="any" required defaultValue="1" />
        </Field>
        <Field label="Unit">
          <select name="unit">
            {Object.keys(UNITS_MS).map((unit) => (
              <option key={unit} value={unit} selected={unit === 'hours'}>
                {unit}
              </option>
            ))}
          </select>
        </Field>
      </div>
    );
  }
  if (props.action === 'set-priority') {
    return (
      <Field label="Priority" hint="the most urgent one first">
        <select name="priority">
          {props.priorities.map((priority) => (
            <option key={priority}>{priority}</option>
          ))}
        </select>
      </Field>
    );
  }
  return null;
}

/** The members of the request that an action adds. */
export function actionBody(action: Action, fields: Readonly<Record<string, string>>): object {
  if (action === 'set-priority') return { priority: fields['priority'] };
  if (action !== 'reschedule') return {};
  const unit = UNITS_MS[(fields['unit'] ?? 'seconds') as keyof typeof UNITS_MS];
  return { delayMs: Math.round(Number(fields['amount']) * unit) };
}
