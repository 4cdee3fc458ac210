/** Runs one task to its end and leaves another one behind; then there is nothing to wait for. */
import { sandbox } from '../../src/sandbox/index.ts';

const handler = sandbox(new URL('./handlers.mjs', import.meta.url), { threads: 2, killMs: 3_600_000 });
const controller = new AbortController();
const context = { id: '1', queue: 'q', name: 't', attempt: 1, attempts: 1, headers: {} };
void handler({ act: 'deaf' }, { ...context, signal: controller.signal }).catch(() => undefined);
await handler({ act: 'thread' }, { ...context, signal: new AbortController().signal });
controller.abort(new Error('the worker has stopped'));
console.log('done');
