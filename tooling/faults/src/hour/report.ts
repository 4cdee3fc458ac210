/** The report of an hour: the faults, the findings, and the problems. */
import type { Deployment } from './draw.js';
import type { LeftKeys } from './protocol.js';
import type { Sample } from './memory.js';
import type { Finding, WorkloadName } from './workload.js';

export interface FaultEvent {
  readonly name: string;
  readonly where: string;
  /** Since the start of the run, s. */
  readonly at: number;
  readonly seconds: number;
  /** The time whose accepted writes may be gone, s; 0 if none may. */
  readonly excusedSeconds: number;
  readonly skipped?: string;
}

export interface ProcessReport {
  readonly name: string;
  /** Whether the process keeps the records of a workload in memory, so that it grows. */
  readonly keepsEvidence: boolean;
  /** After a tenth of the time, and at the end; undefined if the process was gone. */
  readonly early: Sample | undefined;
  readonly late: Sample | undefined;
}

export interface WorkloadReport extends Finding {
  readonly name: WorkloadName;
  readonly left: LeftKeys;
}

export interface HourReport {
  readonly seed: number;
  readonly on: Deployment;
  readonly seconds: number;
  readonly faults: readonly FaultEvent[];
  readonly workloads: readonly WorkloadReport[];
  readonly processes: readonly ProcessReport[];
  /** Client connections of all servers: after a tenth of the time, at the end, and when all processes had ended. */
  readonly connections: { readonly early: number; readonly late: number; readonly left: number };
  /** Errors of the run itself. */
  readonly failures: readonly string[];
}

const MIB = 1_048_576;
/** A heap may grow by this part, and by the bytes below: caches of code, and buffers that fit the largest data so far. */
const HEAP_GROWTH = 0.25;
const HEAP_SLACK_BYTES = 4 * MIB;
/** Cluster clients may connect to so many further nodes. */
const MOST_NEW_FILES = 12;
const CONNECTION_GROWTH = 0.5;
/** Problems of a workload. */
const MOST_SHOWN = 8;

/** Everything that makes the run a failure. */
export function problemsOf(report: HourReport): string[] {
  const { workloads, processes, connections, failures } = report;
  return [
    ...failures,
    ...workloads.flatMap(({ name, violations }) => violations.map((violation) => `${name}: ${violation}`)),
    ...workloads.flatMap(({ name, left }) => left.leaked.map((key) => `${name}: the key ${key} is left`)),
    ...processes.flatMap(leaksOf),
    ...(connections.late > connections.early * (1 + CONNECTION_GROWTH)
      ? [`${connections.late} connections at the end, ${connections.early} at the beginning`]
      : []),
    ...(connections.left > 0 ? [`${connections.left} connections are left`] : []),
  ];
}

function leaksOf({ name, keepsEvidence, early, late }: ProcessReport): string[] {
  if (!early || !late) return [`${name} has ended before its time`];
  const problems: string[] = [];
  if (!keepsEvidence && late.heapBytes > early.heapBytes * (1 + HEAP_GROWTH) + HEAP_SLACK_BYTES)
    problems.push(`${name} has grown from ${mib(early.heapBytes)} to ${mib(late.heapBytes)}`);
  if (late.files !== undefined && early.files !== undefined && late.files > early.files + MOST_NEW_FILES)
    problems.push(`${name} has ${late.files} open files, and had ${early.files}`);
  return problems;
}

/** The report as text, for people. */
export function describe(report: HourReport): string {
  const { seed, on, seconds, faults, workloads, processes, connections } = report;
  const excused = faults.reduce((sum, fault) => sum + fault.excusedSeconds, 0);
  const problems = problemsOf(report);
  return [
    `${on}, seed ${seed}: ${faults.length} faults in ${seconds.toFixed(0)} s`,
    ...faults.map(
      ({ at, name, where, seconds: took, excusedSeconds, skipped }) =>
        `  ${at.toFixed(0).padStart(5)} s  ${name}: ${where}, ${took.toFixed(1)} s` +
        (excusedSeconds > 0 ? `, writes of ${excusedSeconds.toFixed(1)} s may be gone` : '') +
        (skipped === undefined ? '' : ` — skipped: ${skipped}`),
    ),
    `writes of ${excused.toFixed(0)} s in all may be gone (${((100 * excused) / seconds).toFixed(0)} %)`,
    '',
    ...workloads.map(
      ({ name, violations, figures, left }) =>
        `${name}: ${violations.length} violations; ${textOf(figures)}; keys left: ${left.expiring} that expire, ${left.leaked.length} others`,
    ),
    '',
    'memory after a collection of garbage, RSS, open files: after a tenth of the time → at the end',
    ...processes.map(
      ({ name, keepsEvidence, early, late }) =>
        `  ${name}${keepsEvidence ? ' (keeps evidence)' : ''}: ${sampleOf(early)} → ${sampleOf(late)}`,
    ),
    `connections: ${connections.early} → ${connections.late}; ${connections.left} when all processes had ended`,
    '',
    ...shown(problems).map((problem) => `✗ ${problem}`),
    problems.length === 0 ? '✓ no violation, no leak' : `✗ ${problems.length} problems`,
    '',
  ].join('\n');
}

/** Some of each workload. */
function shown(problems: readonly string[]): string[] {
  const counts = new Map<string, number>();
  return problems.filter((problem) => {
    const [of = ''] = problem.split(/[:,]/);
    counts.set(of, (counts.get(of) ?? 0) + 1);
    return counts.get(of)! <= MOST_SHOWN;
  });
}

function textOf(figures: Readonly<Record<string, number>>): string {
  return Object.entries(figures)
    .map(([name, value]) => `${value.toLocaleString('en')} ${name}`)
    .join(', ');
}

function sampleOf(sample: Sample | undefined): string {
  if (!sample) return 'gone';
  return `${mib(sample.heapBytes)}, ${mib(sample.rssBytes)}, ${sample.files ?? '?'}`;
}

function mib(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}
