/** The networks as a MaxMind database of IPv4 with records of 32 bits, after the specification of the format (version 2.0). */
import { CITIES, cityOf, type Networks } from './networks.js';

type Value = string | number | readonly Value[] | { readonly [key: string]: Value };

const STRING = 2;
const UINT32 = 6;
const MAP = 7;
const ARRAY = 11;
const SEPARATOR_BYTES = 16;

export function mmdbOf({ sides, nodes }: Networks): Buffer {
  const records: Buffer[] = [];
  const offsets = new Uint32Array(CITIES);
  let length = 0;
  for (let number = 0; number < CITIES; number += 1) {
    const { country, region, city } = cityOf(number);
    const record = encode({
      country: { iso_code: country },
      subdivisions: [{ names: { en: region } }],
      city: { names: { en: city } },
    });
    offsets[number] = length;
    length += record.length;
    records.push(record);
  }
  const tree = Buffer.allocUnsafe(8 * nodes);
  for (let index = 0; index < 2 * nodes; index += 1) {
    const side = sides[index]!;
    tree.writeUInt32BE(side < 0 ? nodes + SEPARATOR_BYTES + offsets[-1 - side]! : side, 4 * index);
  }
  const metadata = encode({
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1_700_000_000,
    database_type: 'Made-Up-City',
    description: { en: 'made up' },
    ip_version: 4,
    languages: ['en'],
    node_count: nodes,
    record_size: 32,
  });
  const marker = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');
  return Buffer.concat([tree, Buffer.alloc(SEPARATOR_BYTES), ...records, marker, metadata]);
}

function encode(value: Value): Buffer {
  if (typeof value === 'string')
    return Buffer.concat([control(STRING, Buffer.byteLength(value)), Buffer.from(value)]);
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return Buffer.concat([control(UINT32, 4), bytes]);
  }
  if (Array.isArray(value)) {
    return Buffer.concat([control(ARRAY, value.length), ...(value as readonly Value[]).map(encode)]);
  }
  const entries = Object.entries(value as { readonly [key: string]: Value });
  return Buffer.concat([
    control(MAP, entries.length),
    ...entries.flatMap(([key, item]) => [encode(key), encode(item)]),
  ]);
}

/** The control byte of a value; all sizes here are below 29. */
function control(type: number, size: number): Buffer {
  return Buffer.from(type > 7 ? [size, type - 7] : [(type << 5) | size]);
}
