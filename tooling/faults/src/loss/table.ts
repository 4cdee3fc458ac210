import type { Measured } from './settings.js';

/** The table of losses, for `docs/operations/persistence.md`. */
export function lossTable(measured: readonly Measured[]): string {
  const rows = measured.map(({ setting, fault, losses }) => {
    const accepted = sum(losses.map((loss) => loss.accepted));
    const lost = losses.map((loss) => loss.lost);
    const worst = losses.reduce((most, loss) => (loss.lost > most.lost ? loss : most));
    const span = worst.lost === 0 ? '–' : `${format(worst.lostMs)} ms`;
    return `| ${setting} | ${fault} | ${losses.length} | ${format(accepted)} | ${format(sum(lost))} | ${format(worst.lost)} | ${span} |`;
  });
  return [
    '| Setting | Fault | Times | Accepted writes | Lost | Most at once | Written within |',
    '|---|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function format(value: number): string {
  return Math.round(value).toLocaleString('en');
}
