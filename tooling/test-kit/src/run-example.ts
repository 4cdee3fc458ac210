import { formatWithOptions } from 'node:util';
import { jest } from '@jest/globals';

/** The lines that an example, given by its path, prints when it runs against the server of this test run. */
export async function runExample(file: string): Promise<string[]> {
  process.env['REDIS_URL'] = process.env['MORTISE_TEST_REDIS'];
  const printed: string[] = [];
  const log = jest.spyOn(console, 'log').mockImplementation((...values: unknown[]) => {
    printed.push(...formatWithOptions({ colors: false }, ...values).split('\n'));
  });
  try {
    await import(file);
  } finally {
    log.mockRestore();
  }
  return printed;
}
