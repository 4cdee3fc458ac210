/**
 * Competitors as real processes. A crew is a number of processes that do one part of the work each, without end; a
 * window is opened and closed on all of them, and each says what it did in between. The time before the window is
 * the warm-up, and calls under way at its end are cut: nothing has to be finished in common.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { MemberReply, MemberRequest } from './crew-member.js';
import type { Outcome, Spent, Work } from './scenario.js';

const MEMBER = fileURLToPath(new URL('crew-member.js', import.meta.url));

export interface CrewPlan<Report> {
  /** Module whose default export is a `MakeSegment`. */
  readonly module: URL;
  /** One process for each; what its part is made from. */
  readonly settings: readonly object[];
  readonly warmUpSeconds: number;
  readonly seconds: number;
  /** Makes figures of what the processes report and what they spent together. */
  outcome(reports: readonly Report[], spent: Spent): Omit<Outcome, 'elsewhere'>;
}

/** Starts the processes and connects them; they begin with the warm-up. */
export async function crewWork<Report>(plan: CrewPlan<Report>): Promise<Work> {
  const members = plan.settings.map(() => fork(MEMBER, [plan.module.href]));
  const close = async (): Promise<void> => {
    await Promise.all(members.map((member) => ended(member)));
  };
  const ask = (request: (index: number) => MemberRequest): Promise<MemberReply[]> =>
    Promise.all(members.map((member, index) => reply(member, request(index))));
  try {
    await ask((index) => ({ verb: 'prepare', settings: plan.settings[index]! }));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    warmUp: async () => {
      await ask(() => ({ verb: 'start' }));
      await sleep(plan.warmUpSeconds * 1000);
    },
    run: async () => {
      await ask(() => ({ verb: 'open' }));
      await sleep(plan.seconds * 1000);
      const replies = await ask(() => ({ verb: 'close' }));
      const elsewhere = sum(replies.map(({ spent }) => spent!));
      const reports = replies.map(({ report }) => report as Report);
      return { ...plan.outcome(reports, elsewhere), elsewhere };
    },
    close,
  };
}

/** Commands and CPU of all, and their mean time. */
function sum(all: readonly Spent[]): Spent {
  const total = (of: (spent: Spent) => number): number => all.reduce((so, spent) => so + of(spent), 0);
  return {
    seconds: total(({ seconds }) => seconds) / all.length,
    sentCommands: total(({ sentCommands }) => sentCommands),
    cpuMicros: total(({ cpuMicros }) => cpuMicros),
  };
}

async function reply(member: ChildProcess, request: MemberRequest): Promise<MemberReply> {
  const died = new AbortController();
  const onExit = (): void => died.abort(new Error(`a process of the benchmark ended (${request.verb})`));
  member.once('exit', onExit);
  try {
    if (!member.connected) onExit();
    else member.send(request);
    const [answer] = (await once(member, 'message', { signal: died.signal })) as [MemberReply];
    return answer;
  } finally {
    member.off('exit', onExit);
  }
}

async function ended(member: ChildProcess): Promise<void> {
  if (member.exitCode !== null || member.signalCode !== null) return;
  const exit = once(member, 'exit');
  member.kill('SIGKILL');
  await exit;
}
