/**
 * How many accepted writes a server loses by SIGKILL and by failovers, under each setting. `UPDATE_DOCS=1` writes the table into
 * docs/operations/persistence.md. SIGKILL leaves the page cache of the system alone, so this says nothing of a loss of power.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { findRedisServer } from '@mortise/redis-server';
import type { Measured } from '../../src/loss/settings.js';
import { measureFailovers, measureKills } from '../../src/loss/settings.js';
import { lossTable } from '../../src/loss/table.js';

const TIMES = Number(process.env['MORTISE_LOSS_TIMES'] ?? 3);
const PAGE = fileURLToPath(new URL('../../../../docs/operations/persistence.md', import.meta.url));
const BEGIN = '<!-- losses: measured by long/loss -->';
const END = '<!-- end of losses -->';

function lostUnder(measured: readonly Measured[], setting: string): number {
  const found = measured.filter((one) => one.setting.includes(setting));
  return found.flatMap(({ losses }) => losses).reduce((sum, { lost }) => sum + lost, 0);
}

test(
  'a write that was accepted is lost only where the settings allow it',
  async () => {
    const measured = [...(await measureKills(TIMES)), ...(await measureFailovers(TIMES))];
    const table = lossTable(measured);
    const { kind, version } = await findRedisServer();
    const stamp = `${kind === 'redis' ? 'Redis' : 'Valkey'} ${version}, ${new Date().toISOString().slice(0, 10)}`;
    process.stdout.write(`\n${stamp}\n${table}\n`);
    expect(lostUnder(measured, 'always')).toBe(0);
    expect(lostUnder(measured, 'WAIT 1')).toBe(0);
    // Else the measurement would find nothing anywhere.
    expect(lostUnder(measured, 'no persistence')).toBeGreaterThan(TIMES * 1_000);
    if (process.env['UPDATE_DOCS'] === '1') {
      const page = readFileSync(PAGE, 'utf8');
      const [before, rest] = [page.slice(0, page.indexOf(BEGIN)), page.slice(page.indexOf(END))];
      writeFileSync(PAGE, `${before}${BEGIN}\n\nMeasured with ${stamp}:\n\n${table}\n\n${rest}`);
    }
  },
  TIMES * 300_000,
);
