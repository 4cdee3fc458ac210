/**
 * Breaks a script in this process only, so that a test can see its verdict find the defect. A change that no longer fits the
 * text of the script ends the process, so the proof cannot silently become none.
 */
import { Script } from '@mortise/redis';

export interface Change {
  /** The name of the script. */
  readonly script: string;
  readonly replace: readonly (readonly [find: RegExp, replacement: string])[];
}

type Run = (this: Script, ...args: Parameters<Script['run']>) => ReturnType<Script['run']>;

/** @param what The name of the change, for the message. */
export function breakScript(what: string, change: Change): void {
  const broken = new Map<Script, Script>();
  for (const method of ['run', 'runBuffer'] as const) {
    const { [method]: whole } = Script.prototype as Record<typeof method, Run>;
    const runBroken: Run = function runBroken(client, keys, args) {
      if (this.definition.name !== change.script) return whole.call(this, client, keys, args);
      let script = broken.get(this);
      if (!script) {
        const source = brokenSource(what, change, this.definition.source);
        script = new Script({ ...this.definition, source });
        broken.set(this, script);
      }
      return whole.call(script, client, keys, args);
    };
    Script.prototype[method] = runBroken as never;
  }
}

function brokenSource(what: string, { script, replace }: Change, source: string): string {
  let result = source;
  for (const [find, replacement] of replace) {
    if (!find.test(result)) {
      // Not an exception: the process would take it for an error of Redis, and try again.
      console.error(`${script} has nothing that "${what}" could break`);
      process.exit(2);
    }
    result = result.replace(find, replacement);
  }
  return result;
}
