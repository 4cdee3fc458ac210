/** Log lines of two days, from addresses all over the made-up internet: about 50 bytes each. */
import { randomNumbers } from './random.js';

const DAYS = ['2026-11-19', '2026-11-20'];

const two = (value: number): string => String(value).padStart(2, '0');

export function makeLog(lines: number): Buffer {
  const random = randomNumbers(2);
  const texts = Array.from({ length: lines }, (_, index) => {
    const ip = random();
    const address = `${ip >>> 24}.${(ip >>> 16) & 255}.${(ip >>> 8) & 255}.${ip & 255}`;
    const second = Math.floor((86_400 * 2 * index) / lines);
    const time = [Math.floor(second / 3_600) % 24, Math.floor(second / 60) % 60, second % 60]
      .map(two)
      .join(':');
    return `${address} ${DAYS[Math.floor(second / 86_400)]} ${time} GET /item/${random() % 100_000}\n`;
  });
  return Buffer.from(texts.join(''));
}
