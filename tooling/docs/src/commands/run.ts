/** Runs commands of pages as a reader does, one after the other. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Client } from 'pg';
import type { CommandBlock, ShownAnswer } from './blocks.js';

export interface Answer {
  /** Of HTTP, or the exit code of another program, or the number of rows. */
  readonly status: number;
  readonly text: string;
}

const READER = fileURLToPath(new URL('reader.sh', import.meta.url));
const DEADLINE_MS = 30_000;

/** The values of earlier answers, which a reader puts in the place of `…`. */
class Answers {
  readonly #values = new Map<string, string>();

  add({ text }: Answer): void {
    const json: unknown = jsonOf(text);
    JSON.stringify(json, (name, value: unknown) => {
      if (typeof value === 'string') this.#values.set(name, value);
      return value;
    });
  }

  /** `"holder":"…"` has the last holder, `"loadToken":"…"` the last token, `$ID` and `id = '…'` the last id. */
  filled(command: string): string {
    return command
      .replace(/"(\w+)":"…"/g, (as, name: string) => {
        const value =
          this.#values.get(name) ?? this.#values.get(name.replace(/^.*(?=[A-Z])/, '').toLowerCase());
        return value === undefined ? as : `"${name}":"${value}"`;
      })
      .replace(/\$ID\b/g, this.#values.get('id') ?? '$ID')
      .replace(/id = '…'/, `id = '${this.#values.get('id')}'`);
  }
}

/** Assignments of a block hold for its later commands. A key that the page shortens is the one of the test. */
export async function runShell(block: CommandBlock, env: NodeJS.ProcessEnv, cwd: string): Promise<Answer[]> {
  const [given, known]: [Answer[], string[]] = [[], []];
  const answers = new Answers();
  for (const command of [...block.setup, ...block.commands]) {
    const filled = answers.filled(command).replace(/\bADMIN_KEY=mk_…/, '');
    if (/^(?:export )?\w+=\S*$/.test(filled.trim())) known.push(filled);
    else {
      const answer = await shell([`. ${READER}`, ...known, filled].join('\n'), env, cwd);
      answers.add(answer);
      given.push(answer);
    }
  }
  return given.slice(-block.commands.length + known.length);
}

function shell(script: string, env: NodeJS.ProcessEnv, cwd: string): Promise<Answer> {
  return new Promise((resolve) => {
    execFile('bash', ['-c', script], { env, cwd, timeout: DEADLINE_MS }, (error, stdout, stderr) => {
      const [, http] = /^HTTP (\d+)$/m.exec(stderr) ?? [];
      const code = error ? Number(error.code) : 0;
      const text = http === undefined ? stdout + stderr : stdout;
      resolve({ status: http === undefined ? code : Number(http), text });
    });
  });
}

export async function runSql(block: CommandBlock, client: Client): Promise<Answer[]> {
  const given: Answer[] = [];
  const answers = new Answers();
  for (const statement of [...block.setup, ...block.commands]) {
    const values = statement.includes('$1') ? [1] : [];
    const { rowCount, rows } = await client.query<object>(answers.filled(statement), values);
    given.push({ status: rowCount ?? 0, text: JSON.stringify(rows) });
    answers.add(given.at(-1)!);
  }
  return given.slice(block.setup.length);
}

/** Whether an answer has the status and the part that a page promises, such as `200 {"isReleased":true}`. */
export function keeps({ status, text }: Answer, promised: string): boolean {
  const [, wanted, part = ''] = /^(\d+) ?(.*)$/.exec(promised) ?? [];
  const json = jsonOf(part);
  const isThere = typeof json === 'object' ? isPart(json, jsonOf(text)) : text.includes(part);
  return status === Number(wanted) && isThere;
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** How an answer differs from that of a page: `undefined` if it doesn't. Ids of requests and values of headers are those of the run. */
export function differenceOf(
  given: string,
  { language, shown }: Pick<ShownAnswer, 'language' | 'shown'>,
): unknown {
  const [wanted, found] = [shown, given].map((text) => partsOf(language, text.replaceAll('\r', '')));
  const absent = wanted!.headers.filter((header) => !found!.headers.includes(header));
  const bodies = [wanted!.body, found!.body].map((body) =>
    JSON.stringify(jsonOf(body), (_, value: unknown) =>
      typeof value === 'string' && UUID.test(value) ? 'an id' : value,
    ),
  );
  return absent.length === 0 && bodies[0] === bodies[1] ? undefined : { absent, bodies };
}

/** The body, and the names of the headers before it. */
function partsOf(language: ShownAnswer['language'], text: string): { headers: string[]; body: string } {
  if (language === 'json') return { headers: [], body: text };
  const [head = '', ...rest] = text.split('\n\n');
  const headers = Array.from(head.matchAll(/^([\w-]+): /gm), ([, name]) => name!.toLowerCase());
  return { headers, body: rest.join('\n\n') };
}

function isPart(wanted: unknown, found: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null) return wanted === found;
  if (typeof found !== 'object' || found === null) return false;
  return Object.entries(wanted).every(([name, value]) =>
    isPart(value, (found as Record<string, unknown>)[name]),
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
