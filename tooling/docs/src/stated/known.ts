/** The defaults of all options and settings, from the sources: those that a document may promise. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript-5.9';
import { root } from '../pages.js';
import { parsed } from '../reference/parsed.js';
import { optionDefaults } from '../reference/options.js';
import { constantDefaults } from '../reference/defaults.js';
import { constantsIn, evaluated } from '../reference/evaluate.js';
import { PACKAGES } from '../reference/packages.js';

export interface Known {
  /** A folder of `packages/` or `apps/`. */
  readonly folder: string;
  /** The interface of the option; empty for a setting. */
  readonly group: string;
  readonly name: string;
  /** As the comment of an option has it, or the value of a setting. Empty: there is none. */
  readonly text: string;
}

const COMMON = 'apps/common/src/settings';
const SETTINGS = ['api', 'worker'].map((folder) => ({
  folder,
  files: [`apps/${folder}/src/config.ts`, `${COMMON}/redis-settings.ts`, `${COMMON}/tracing-settings.ts`],
}));

export function knownDefaults(): Known[] {
  const options = [...PACKAGES, 'console', 'client'].flatMap((folder) =>
    optionDefaults(folder).map((option) => ({ folder, ...option })),
  );
  const constants = [...PACKAGES, 'console', 'client'].flatMap((folder) =>
    constantDefaults(folder).map((constant) => ({ folder, ...constant })),
  );
  const settings = SETTINGS.flatMap(({ folder, files }) =>
    files.flatMap(settingsIn).map((setting) => ({ folder, group: '', ...setting })),
  );
  return [...options, ...constants, ...settings];
}

/** `PORT: port().default(3_000)`: a member in capitals, and the argument of its last `default`. */
function settingsIn(file: string): { name: string; text: string }[] {
  const [prefixes, source] = ['packages/redis/src/key-space.ts', file].map((path) =>
    parsed(readFileSync(join(root, path), 'utf8')),
  ) as [ts.SourceFile, ts.SourceFile];
  const constants = new Map([...constantsIn(prefixes), ...constantsIn(source)]);
  const found: { name: string; text: string }[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAssignment(node) && /^[A-Z][A-Z_]+$/.test(node.name.getText())) {
      const call = defaultCall(node.initializer);
      const value = call && evaluated(call.arguments[0]!, constants);
      if (call && value === undefined)
        throw new Error(`${file}: the default of ${node.name.getText()} is no plain value`);
      found.push({ name: node.name.getText(), text: String(value ?? '') });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function defaultCall(node: ts.Expression): ts.CallExpression | undefined {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
  return node.expression.name.text === 'default' ? node : defaultCall(node.expression.expression);
}
