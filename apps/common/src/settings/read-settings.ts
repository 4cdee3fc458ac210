import type { z } from 'zod';

/** The settings are invalid; `problems` has one line for each mistake, and none repeats a value. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';

  constructor(readonly problems: readonly string[]) {
    super(`the settings are not valid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

/** Reads the variables by the schema; an empty one counts as not set. Throws SettingsError with all mistakes. */
export function readSettings<Schema extends z.ZodType>(
  schema: Schema,
  variables: Readonly<Record<string, string | undefined>>,
): z.output<Schema> {
  const set = Object.entries(variables).filter(([, value]) => value !== '');
  const { data, error } = schema.safeParse(Object.fromEntries(set));
  if (!error) return data;
  const problems = error.issues.map(({ path, message }) => `${path.slice(0, 1).join('')}: ${message}`);
  throw new SettingsError([...new Set(problems)]);
}
