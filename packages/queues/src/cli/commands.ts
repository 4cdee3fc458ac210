/** The commands. Each resolves to the exit code: 0, or 1 when something was refused or does not exist. */
import { CodedError, withoutLink } from '@mortise/redis';
import type { Task } from '../task/task.js';
import { TASK_STATES } from '../task/task.js';
import { Queue } from '../queue.js';
import type { Context } from './context.js';
import { migrate } from './migrate.js';
import { fields, firstLine, instant, plain, table } from './text.js';
import type { Command } from './usage.js';
import { countOf, durationOf, numberOf, stateOf, singleName, UsageError, USAGES } from './usage.js';

type Act = (context: Context) => Promise<0 | 1>;

const ls: Act = async ({ redis, prefix, names, print }) => {
  if (names.length > 0) throw new UsageError('ls takes no names');
  const queues = [];
  for (const name of await Queue.names(redis, prefix)) {
    const queue = new Queue(redis, name, prefix);
    const [counts, { isPaused }] = await Promise.all([queue.counts(), queue.settings()]);
    queues.push({ name, isPaused, counts });
  }
  const rows = queues.map(({ name, isPaused, counts }) => [
    name,
    ...TASK_STATES.map((state) => counts[state]),
    isPaused ? 'paused' : '',
  ]);
  print(queues, table(['queue', ...TASK_STATES, ''], rows));
  return 0;
};

const show: Act = async (context) => {
  const queue = await existingQueue(context, singleName('show', context.names));
  if (!queue) return 1;
  const { name } = queue;
  const [settings, counts, handled] = await Promise.all([queue.settings(), queue.counts(), queue.names()]);
  context.print({ name, settings, counts, handled }, fields({ name, ...settings, ...counts, handled }));
  return 0;
};

const tasks: Act = async (context) => {
  const { names, values, print } = context;
  const state = stateOf(values.state, TASK_STATES);
  const { name, cursor } = values;
  const options = {
    ...countOf('limit', values.limit),
    ...(name !== undefined && { name }),
    ...(cursor !== undefined && { cursor }),
  };
  const queue = await existingQueue(context, singleName('tasks', names));
  if (!queue) return 1;
  const page = await queue.summaries(state, options);
  const rows = page.tasks.map((task) => [
    task.id,
    task.name,
    task.priority,
    `${task.attempt}/${task.attempts}`,
    instant(task.finishedAt ?? task.runAt ?? task.leaseUntil ?? task.enqueuedAt),
    firstLine(task.error && `${task.error.name}: ${task.error.message}`),
  ]);
  const more = page.cursor === null ? '' : `more: --cursor ${page.cursor}\n`;
  print(page, table(['id', 'name', 'priority', 'attempt', 'at', 'error'], rows) + more);
  return 0;
};

const task: Act = async (context) => {
  const [queue, ids] = await queueAndIds(context);
  if (!queue) return 1;
  const found = await Promise.all(ids.map((id) => queue.get(id)));
  const known = found.filter((one) => one !== null);
  context.print(found, known.map((one) => fields(printable(one))).join('\n'));
  for (const [index, one] of found.entries()) {
    if (!one)
      context.complain(`no task ${JSON.stringify(ids[index])} in queue ${JSON.stringify(queue.name)}`);
  }
  return known.length === ids.length ? 0 : 1;
};

const retry: Act = async (context) => {
  const { names, values, print } = context;
  if (!values.all) {
    if (values.state !== undefined || values.name !== undefined || values.limit !== undefined) {
      throw new UsageError('--state, --name and --limit go with --all');
    }
    return forEachId(context, 'retried', (queue, id) => queue.retry(id));
  }
  const options = {
    state: stateOf(values.state, ['dead', 'cancelled'], 'dead'),
    ...(values.name !== undefined && { name: values.name }),
    ...countOf('limit', values.limit),
  };
  const queue = await existingQueue(context, singleName('retry', names));
  if (!queue) return 1;
  const retried = await queue.retryAll(options);
  print({ retried }, `retried ${retried}\n`);
  return 0;
};

const pauseOrResume =
  (command: 'pause' | 'resume'): Act =>
  async (context) => {
    const { redis, prefix, names, values, print } = context;
    const isAll = values.all === true;
    const hasNames = names.length > 0;
    if (hasNames === isAll) {
      throw new UsageError(`usage: mortise-queues ${command} ${USAGES[command].syntax}`);
    }
    const done = `${command}d`;
    if (isAll) {
      const all = await (command === 'pause'
        ? Queue.pauseAll(redis, prefix)
        : Queue.resumeAll(redis, prefix));
      print({ [done]: all }, all.map((name) => `${done} ${plain(name)}\n`).join(''));
      return 0;
    }
    const queues = [];
    for (const name of names) {
      const queue = await existingQueue(context, name);
      if (!queue) return 1;
      queues.push(queue);
    }
    for (const queue of queues) await queue[command]();
    print({ [done]: names }, names.map((name) => `${done} ${plain(name)}\n`).join(''));
    return 0;
  };

const drain: Act = async (context) => {
  const { names, values, print } = context;
  const queue = await existingQueue(context, singleName('drain', names));
  if (!queue) return 1;
  const removed = await queue.drain({ scheduled: values.scheduled ?? false });
  print({ removed }, `removed ${removed}\n`);
  return 0;
};

const clean: Act = async (context) => {
  const { names, values, print } = context;
  const state = stateOf(values.state, ['succeeded', 'dead', 'cancelled']);
  const olderThan = values['older-than'];
  const options = {
    ...countOf('limit', values.limit),
    ...(olderThan !== undefined && { olderThanMs: durationOf(olderThan) }),
  };
  const queue = await existingQueue(context, singleName('clean', names));
  if (!queue) return 1;
  const removed = await queue.clean(state, options);
  print({ removed }, `removed ${removed}\n`);
  return 0;
};

const reshard: Act = async (context) => {
  const { names, print } = context;
  const [name, count, ...others] = names;
  if (name === undefined || count === undefined || others.length > 0) {
    throw new UsageError(`usage: mortise-queues reshard ${USAGES.reshard.syntax}`);
  }
  const shards = numberOf('<shards>', count);
  const queue = await existingQueue(context, name);
  if (!queue) return 1;
  const isChanged = await queue.reshard(shards);
  const what = isChanged ? 'has' : 'already has';
  print({ name, shards, isChanged }, `${plain(name)} ${what} ${shards} shards\n`);
  return 0;
};

/** Also for a name that is no longer listed, since an earlier call may have died. */
const obliterate: Act = async ({ redis, prefix, names, values, print, complain }) => {
  const queue = new Queue(redis, singleName('obliterate', names), prefix);
  if (!(await queue.obliterate({ force: values.force ?? false }))) {
    complain(`no queue ${JSON.stringify(queue.name)}`);
    return 1;
  }
  print({ obliterated: queue.name }, `obliterated ${plain(queue.name)}\n`);
  return 0;
};

export const COMMANDS: Readonly<Record<Command, Act>> = {
  ls,
  show,
  tasks,
  task,
  retry,
  cancel: (context) => {
    const { reason } = context.values;
    return forEachId(context, 'cancelled', (queue, id) =>
      queue.cancel(id, reason === undefined ? {} : { reason }),
    );
  },
  remove: (context) => forEachId(context, 'removed', (queue, id) => queue.remove(id)),
  promote: (context) => forEachId(context, 'promoted', (queue, id) => queue.promote(id)),
  pause: pauseOrResume('pause'),
  resume: pauseOrResume('resume'),
  reshard,
  drain,
  clean,
  obliterate,
  migrate,
};

/** A misspelt name must not create a queue. */
async function existingQueue({ redis, prefix, complain }: Context, name: string): Promise<Queue | undefined> {
  const names = await Queue.names(redis, prefix);
  if (names.includes(name)) return new Queue(redis, name, prefix);
  complain(`no queue ${JSON.stringify(name)}`);
  return undefined;
}

async function queueAndIds(context: Context): Promise<[Queue | undefined, readonly string[]]> {
  const { command, names } = context;
  const [name, ...ids] = names;
  if (name === undefined || ids.length === 0) {
    throw new UsageError(`usage: mortise-queues ${command} ${USAGES[command].syntax}`);
  }
  return [await existingQueue(context, name), ids];
}

/** Prints the outcome of each id; a refused one does not stop the others. */
async function forEachId(
  context: Context,
  done: string,
  act: (queue: Queue, id: string) => Promise<boolean>,
): Promise<0 | 1> {
  const [queue, ids] = await queueAndIds(context);
  if (!queue) return 1;
  const answers = await Promise.all(
    ids.map(async (id) => {
      try {
        return { id, [done]: await act(queue, id) };
      } catch (error) {
        if (!(error instanceof CodedError)) throw error;
        return { id, [done]: false, code: error.code, error: withoutLink(error.message) };
      }
    }),
  );
  const lines = answers.map((answer) => {
    if (answer[done]) return `${done} ${plain(answer.id)}\n`;
    return `not ${done} ${plain(answer.id)}${'error' in answer ? `: ${plain(answer.error)}` : ''}\n`;
  });
  context.print(answers, lines.join(''));
  return answers.every((answer) => answer[done]) ? 0 : 1;
}

/** The task with readable times. */
function printable({
  enqueuedAt,
  runAt,
  expiresAt,
  leaseUntil,
  finishedAt,
  logs,
  error,
  ...rest
}: Task<Record<string, unknown>>): object {
  const instants = Object.entries({ enqueuedAt, runAt, expiresAt, leaseUntil, finishedAt }).filter(
    ([, at]) => at !== undefined,
  );
  const lines = (logs ?? []).map(({ at, text }, index) => [`log ${index + 1}`, `${instant(at)} ${text}`]);
  return {
    ...rest,
    ...(error && { error: error.stack }),
    ...Object.fromEntries(instants.map(([name, at]) => [name, instant(at)])),
    ...(Object.fromEntries(lines) as object),
  };
}
