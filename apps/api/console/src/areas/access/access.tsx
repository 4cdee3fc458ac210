/** Who may call the API: keys, tenants, and what was changed by whom. */
import type { JSX } from 'preact';

import type { AreaProps } from '../../areas.ts';
import { hrefOf } from '../../location.ts';
import { mayChange } from '../../session.ts';
import { Head, Tabs } from '../../ui/elements.tsx';
import { AuditLog } from './audit-log.tsx';
import { Keys } from './keys.tsx';
import { Tenants } from './tenants.tsx';

const TABS = ['keys', 'tenants', 'audit'] as const;
const TITLES = { keys: 'API keys', tenants: 'Tenants', audit: 'Audit log' } as const;

export default function Access({ parts: [given], session }: AreaProps): JSX.Element {
  const tab = TABS.find((each) => each === given) ?? 'keys';
  const mayWrite = mayChange(session, 'tenants:admin');
  return (
    <>
      <Head title="Access" />
      <Tabs
        label="Parts of the access"
        current={tab}
        tabs={TABS.map((key) => ({ key, href: hrefOf(['access', key]), title: TITLES[key] }))}
      />
      {tab === 'keys' && <Keys mayWrite={mayWrite} />}
      {tab === 'tenants' && <Tenants mayWrite={mayWrite} />}
      {tab === 'audit' && <AuditLog />}
    </>
  );
}
