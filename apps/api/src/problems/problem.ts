import type { ProblemSlug } from './catalogue.js';
import { CATALOGUE, PROBLEM_BASE } from './catalogue.js';

export type ProblemFields = Readonly<Record<string, unknown>>;

/** An answer that is a problem: thrown anywhere, sent as `application/problem+json`. */
export class Problem extends Error {
  override readonly name = 'Problem';

  /**
   * @param detail What is wrong with this request, for a person. Never the message of an unexpected exception.
   * @param fields Members of the document beside those of RFC 9457, for a program.
   */
  constructor(
    readonly slug: ProblemSlug,
    readonly detail?: string,
    readonly fields: ProblemFields = {},
    options?: ErrorOptions,
  ) {
    super(detail ?? CATALOGUE[slug].title, options);
  }

  get status(): number {
    return CATALOGUE[this.slug].status;
  }

  /** The document. @param instance The id of the request. */
  toDocument(instance: string): ProblemFields {
    const { title, status } = CATALOGUE[this.slug];
    const detail = this.detail === undefined ? {} : { detail: this.detail };
    return { type: PROBLEM_BASE + this.slug, title, status, ...detail, instance, ...this.fields };
  }
}
