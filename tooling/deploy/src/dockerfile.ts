/** The subset of Dockerfile syntax that deploy/docker has: no heredocs, no variables. */
import { read } from './repository.js';

export interface Step {
  readonly keyword: string;
  /** `--from=build` is `from: 'build'`. */
  readonly flags: Readonly<Record<string, string>>;
  /** All that follows the flags. */
  readonly text: string;
}

export interface Stage {
  /** Empty for the last stage, which is the image. */
  readonly name: string;
  /** Another stage, or an image. */
  readonly from: string;
  readonly steps: readonly Step[];
}

/** The stages of `deploy/docker/<app>.Dockerfile`. */
export function stagesOf(app: string): Stage[] {
  const stages: (Omit<Stage, 'steps'> & { steps: Step[] })[] = [];
  for (const step of stepsIn(read(`deploy/docker/${app}.Dockerfile`))) {
    if (step.keyword === 'FROM') {
      const [, from = '', name = ''] = /^(\S+)(?: AS (\S+))?$/.exec(step.text) ?? [];
      stages.push({ from, name, steps: [] });
    } else stages.at(-1)!.steps.push(step);
  }
  return stages;
}

function stepsIn(text: string): Step[] {
  const lines = text
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '');
  return lines.map((line) => {
    const [, keyword = '', rawFlags = '', rest = ''] = /^(\w+)((?: +--[\w-]+=\S+)*) +(.*)$/.exec(line) ?? [];
    if (keyword === '') throw new Error(`not a step of a Dockerfile: ${line}`);
    const flags = Array.from(rawFlags.matchAll(/--([\w-]+)=(\S+)/g), ([, name, value]) => [name!, value!]);
    return { keyword, flags: Object.fromEntries(flags) as Record<string, string>, text: rest };
  });
}

/** The words of `CMD ["node", …]` and `HEALTHCHECK CMD ["node", …]`. Throws for the form that starts a shell. */
export function wordsOf({ text }: Step): string[] {
  return JSON.parse(text.replace(/^CMD /, '')) as string[];
}

/** The variables of `ENV A=1 B=2`. */
export function variablesOf({ text }: Step): Record<string, string> {
  return Object.fromEntries(
    text.split(/ +/).map((part) => [part.slice(0, part.indexOf('=')), part.slice(part.indexOf('=') + 1)]),
  ) as Record<string, string>;
}

/** The last step with this keyword. */
export function lastStep({ steps }: Stage, keyword: string): Step | undefined {
  return steps.findLast((step) => step.keyword === keyword);
}
