import { call, path } from '../../http.ts';
import type { Action } from './states.ts';

/** Does something to one task. Rejects with ApiProblem, such as `wrong-state`. */
export function actOnTask(queue: string, id: string, action: Action, body: object = {}): Promise<unknown> {
  const address = path`queues/${queue}/tasks/${id}`;
  if (action === 'remove') return call('DELETE', address);
  const verb = action === 'set-priority' ? 'priority' : action;
  // A cancelled task tells who did it.
  const sent = action === 'cancel' ? { reason: 'cancelled in the console' } : body;
  return call('POST', `${address}/${verb}`, Object.keys(sent).length > 0 ? { body: sent } : {});
}
