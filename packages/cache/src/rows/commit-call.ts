/** The arguments of one call of the commit script, in its order. */
import { encodeName } from '@mortise/redis';
import type { CommandArgument } from '@mortise/redis';
import type { ShardKeys } from './keys.js';
import type { LeasedPack } from './pack.js';

/** The kinds of loaded rows, in the order of the script. */
const KINDS = ['renewed', 'changed', 'checked', 'confirmed'] as const;
export type Kind = (typeof KINDS)[number];

export interface LoadedRow {
  readonly id: string;
  readonly head: string;
  readonly everyMs: number;
  /** Empty for a row of a pack, which has one for all its rows. */
  readonly dueAt: number | '';
  readonly state: string;
  readonly value: string | Buffer;
}

export interface OtherRow {
  readonly id: string;
  readonly dueAt: number;
  readonly state: string;
  readonly code: string;
}

/** The rows of one pack, or the single rows. */
export class Rows {
  readonly #rows: Record<Kind, LoadedRow[]> = { renewed: [], changed: [], checked: [], confirmed: [] };
  readonly others: OtherRow[] = [];
  /** The size of the values to store. */
  bytes = 0;

  add(kind: Kind, row: LoadedRow): void {
    this.#rows[kind].push(row);
    if (kind === 'renewed' || kind === 'changed') this.bytes += row.value.length;
  }

  /** Moves all rows except those whose values are stored to a new object. */
  withoutStored(): Rows {
    const rest = new Rows();
    for (const kind of ['checked', 'confirmed'] as const) {
      rest.#rows[kind] = this.#rows[kind];
      this.#rows[kind] = [];
    }
    rest.others.push(...this.others.splice(0));
    return rest;
  }

  get size(): number {
    return this.loaded.length + this.others.length;
  }

  get unchanged(): number {
    return this.#rows.checked.length + this.#rows.confirmed.length;
  }

  get loaded(): LoadedRow[] {
    return KINDS.flatMap((kind) => this.#rows[kind]);
  }

  get stored(): LoadedRow[] {
    return [...this.#rows.renewed, ...this.#rows.changed];
  }

  get counts(): { renewed: number; stored: number; checked: number; others: number } {
    const { renewed, changed, checked } = this.#rows;
    return {
      renewed: renewed.length,
      stored: renewed.length + changed.length,
      checked: checked.length,
      others: this.others.length,
    };
  }

  /** The value keys of the stored, the checked and the other rows. */
  keys(keys: ShardKeys): string[] {
    return [...this.stored, ...this.#rows.checked, ...this.others].map(({ id }) => keys.row(id));
  }

  get otherOutcomes(): CommandArgument[] {
    return this.others.flatMap(({ id, dueAt, state, code }) => [encodeName(id), dueAt, state, code]);
  }
}

/** The state of a pack after the commit. */
export interface PackEnd {
  readonly dueAt: number;
  /** '': unchanged. */
  readonly header: string;
  /** '': unchanged. */
  readonly rows: string;
  readonly stays: boolean;
  /** The rows leased with it. */
  readonly size: number;
}

export interface NewPack {
  readonly name: string;
  readonly dueAt: number;
  readonly header: string;
  readonly rows: string;
  /** The packs that it absorbs, in addition to single rows. */
  readonly parts: readonly string[];
  readonly ids: readonly string[];
}

/** The outcome of a pack; without `end`, more of its values follow under the same lease. */
interface PackOutcome {
  readonly pack: LeasedPack;
  readonly rows: Rows;
  readonly end: PackEnd | undefined;
  /** Its rows until the last part: until then the heads of already stored values are unknown. '': unchanged. */
  readonly meanwhile: string;
}

/** The content of one call. */
export class CommitCall {
  /** The single rows. */
  readonly rows = new Rows();
  readonly packs: PackOutcome[] = [];
  readonly made: NewPack[] = [];
  firsts = 0;

  get bytes(): number {
    return this.packs.reduce((sum, { rows }) => sum + rows.bytes, this.rows.bytes);
  }

  get unchanged(): number {
    return this.packs.reduce((sum, { rows }) => sum + rows.unchanged, this.rows.unchanged);
  }

  values(keys: ShardKeys): string[] {
    return [this.rows, ...this.packs.map(({ rows }) => rows)].flatMap((rows) => rows.keys(keys));
  }

  get outcomes(): CommandArgument[] {
    const { loaded, stored, otherOutcomes } = this.rows;
    return [
      ...loaded.flatMap(({ dueAt, id }) => [dueAt, encodeName(id)]),
      ...loaded.map(({ state }) => state),
      ...stored.map(({ value }) => value),
      ...otherOutcomes,
      ...this.packs.flatMap(packOutcomes),
      ...this.made.flatMap(({ name, dueAt, header, rows, parts, ids }) => [
        name,
        dueAt,
        header,
        rows,
        parts.length,
        ...parts,
        ids.length,
        ...ids.map((id) => encodeName(id)),
      ]),
    ];
  }
}

function packOutcomes({ pack, rows, end, meanwhile }: PackOutcome): CommandArgument[] {
  const { renewed, stored, checked, others } = rows.counts;
  return [
    pack.name,
    end?.dueAt ?? '',
    end?.header ?? '',
    end?.rows ?? meanwhile,
    pack.seen,
    end?.size ?? 0,
    renewed,
    stored,
    checked,
    others,
    pack.everyMs,
    end?.stays === false ? 0 : 1,
    ...rows.stored.map(({ value }) => value),
    ...rows.otherOutcomes,
  ];
}
