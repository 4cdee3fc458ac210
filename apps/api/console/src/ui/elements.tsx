/** Small parts that all areas use. */
import type { ComponentChildren, JSX } from 'preact';

import { ApiProblem, isNotFound } from '../http.ts';
import { Link } from '../location.ts';
import type { Resource } from '../resource.ts';
import { useNow } from './clock.ts';
import { agoText, instantText, jsonText } from './text.ts';

export type Tone = 'good' | 'busy' | 'wait' | 'bad' | 'quiet';

interface WithChildren {
  readonly children?: ComponentChildren;
}

/** A word with its colour. */
export function State({ tone, children }: WithChildren & { readonly tone: Tone }): JSX.Element {
  return (
    <span class="state" data-tone={tone}>
      {children}
    </span>
  );
}

/** An instant: how long ago it was, and its date on hover. */
export function Time({ at }: { readonly at: number | null | undefined }): JSX.Element {
  const now = useNow();
  if (at === null || at === undefined) return <span class="muted">–</span>;
  return (
    <time dateTime={new Date(at).toISOString()} title={instantText(at)}>
      {agoText(at, now)}
    </time>
  );
}

export function Figure(props: {
  readonly label: string;
  readonly value: ComponentChildren;
  readonly note?: ComponentChildren;
}): JSX.Element {
  return (
    <dl class="figure">
      <dt>{props.label}</dt>
      <dd>{props.value}</dd>
      {props.note !== undefined && <dd>{props.note}</dd>}
    </dl>
  );
}

/** Names and values; a value of undefined has no line. */
export function Facts({ of }: { readonly of: Readonly<Record<string, ComponentChildren>> }): JSX.Element {
  return (
    <dl class="facts">
      {Object.entries(of)
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => [<dt key={`${name} name`}>{name}</dt>, <dd key={name}>{value}</dd>])}
    </dl>
  );
}

export function Head(props: WithChildren & { readonly title: ComponentChildren }): JSX.Element {
  return (
    <div class="head">
      <h1 class="grow">{props.title}</h1>
      {props.children}
    </div>
  );
}

export function Card(
  props: WithChildren & {
    readonly title?: ComponentChildren;
    readonly actions?: ComponentChildren;
    readonly isBad?: boolean;
  },
): JSX.Element {
  return (
    <section class={props.isBad ? 'card bad' : 'card'}>
      {(props.title ?? props.actions) !== undefined && (
        <div class="head">
          <h2 class="grow">{props.title}</h2>
          {props.actions}
        </div>
      )}
      {props.children}
    </section>
  );
}

/** What a list says that has nothing yet, and what to do about it. */
export function Empty(props: WithChildren & { readonly title: string }): JSX.Element {
  return (
    <div class="empty">
      <strong>{props.title}</strong>
      {props.children}
    </div>
  );
}

export function Trouble({ error }: { readonly error: Error }): JSX.Element {
  const isRefusal = error instanceof ApiProblem;
  return (
    <p class="problem" role="alert">
      {isRefusal ? error.message : 'The API does not answer.'}
      {isRefusal && error.requestId !== undefined && (
        <>
          {' '}
          <code>{error.requestId}</code>
        </>
      )}
    </p>
  );
}

export function Skeleton({ lines = 4 }: { readonly lines?: number }): JSX.Element {
  return (
    <div class="stack" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, index) => (
        <span class="skeleton" key={index} />
      ))}
    </div>
  );
}

/** Draws what was read; before that a skeleton, and why it could not be read. */
export function Read<Value>(props: {
  readonly of: Resource<Value>;
  /** In place of all when there is no such thing. Default: the refusal. */
  readonly missing?: ComponentChildren;
  readonly children: (value: Value) => ComponentChildren;
}): JSX.Element {
  const { value, error } = props.of;
  if (props.missing !== undefined && isNotFound(error)) return <>{props.missing}</>;
  return (
    <>
      {error && <Trouble error={error} />}
      {value === undefined ? !error && <Skeleton /> : props.children(value)}
    </>
  );
}

export function Json({ value }: { readonly value: unknown }): JSX.Element {
  return <pre>{jsonText(value)}</pre>;
}

/** Tabs are links. `current` is the key of one. */
export function Tabs(props: {
  readonly label: string;
  readonly current: string;
  readonly tabs: readonly {
    readonly key: string;
    readonly href: string;
    readonly title: ComponentChildren;
  }[];
}): JSX.Element {
  return (
    <nav class="tabs" aria-label={props.label}>
      {props.tabs.map(({ key, href, title }) => (
        <Link key={key} href={href} aria-current={key === props.current ? 'page' : undefined}>
          {title}
        </Link>
      ))}
    </nav>
  );
}

/** The share of a whole, with its figures for readers without eyes for the bar. */
export function Share(props: {
  readonly of: number;
  readonly used: number;
  readonly label: string;
  readonly tone?: Tone;
}): JSX.Element {
  const share = props.of > 0 ? Math.min(1, props.used / props.of) : 0;
  return (
    <span class="bar" role="img" aria-label={props.label} data-tone={props.tone}>
      <span style={{ width: `${share * 100}%` }} />
    </span>
  );
}
