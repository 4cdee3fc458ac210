/** Tenants, whose data are apart, with their limits and what they use. */
import type { JSX } from 'preact';

import { call, path } from '../../http.ts';
import { Dialog, DialogButton } from '../../ui/dialog.tsx';
import { usePages } from '../../ui/pages.ts';
import { TableOf } from '../../ui/paged-table.tsx';
import { ACTIONS } from '../../ui/table.tsx';
import { bytesText, countText } from '../../ui/text.ts';
import { act } from '../../ui/toasts.tsx';
import { limitText } from './limit-text.ts';
import { putNew } from './put-new.ts';
import type { Terms } from './tenant-dialog.tsx';
import { TenantDialog } from './tenant-dialog.tsx';

interface Tenant extends Terms {
  readonly id: string;
  readonly keys: number;
  readonly usage: { readonly keys: number; readonly bytes?: number } | null;
}

export function Tenants({ mayWrite }: { readonly mayWrite: boolean }): JSX.Element {
  const tenants = usePages<Tenant>('admin/tenants');
  const done = async (text: string, action: () => Promise<unknown>): Promise<boolean> => {
    const isDone = await act(text, action);
    tenants.reload();
    return isDone;
  };
  return (
    <div class="stack">
      {mayWrite && (
        <div class="row">
          <AddButton done={done} />
        </div>
      )}
      <TableOf
        pages={tenants}
        again={tenants.reload}
        label="Tenants"
        idOf={({ id }) => id}
        empty="There is no tenant but the default one."
        hint={<span>Keys of another tenant see its data alone.</span>}
        columns={[
          { title: 'Id', cell: ({ id }) => <code>{id}</code> },
          { title: 'Name', cell: ({ name }) => <span class="wide">{name}</span> },
          { title: 'Limit', kind: 'fit', cell: ({ limit }) => limitText(limit) },
          { title: 'Quotas', cell: ({ quotas }) => <span class="wide">{quotasText(quotas)}</span> },
          { title: 'Used', cell: ({ usage }) => usageText(usage) },
          { title: 'API keys', kind: 'number', cell: ({ keys }) => countText(keys) },
          {
            ...ACTIONS,
            cell: (tenant) =>
              mayWrite && (
                <span class="row">
                  <ChangeButton tenant={tenant} done={done} />
                  <RemoveButton id={tenant.id} hasKeys={tenant.keys > 0} done={done} />
                </span>
              ),
          },
        ]}
      />
    </div>
  );
}

function quotasText(quotas: Tenant['quotas']): string {
  const texts = Object.entries(quotas).map(([kind, most]) =>
    kind === 'bytes' ? bytesText(most) : `${countText(most)} ${kind}`,
  );
  return texts.join(', ') || 'none';
}

function usageText(usage: Tenant['usage']): string {
  if (usage === null) return '–';
  const bytes = usage.bytes === undefined ? '' : `, ${bytesText(usage.bytes)}`;
  return `${countText(usage.keys)} keys${bytes}`;
}

interface ActionProps {
  readonly done: (text: string, action: () => Promise<unknown>) => Promise<boolean>;
}

function AddButton({ done }: ActionProps): JSX.Element {
  return (
    <DialogButton label="Add a tenant">
      {(close) => (
        <TenantDialog
          title="Add a tenant"
          submit="Add"
          close={close}
          store={(id, terms) =>
            done(`The tenant ${id} is made.`, () =>
              putNew(path`admin/tenants/${id}`, `a tenant ${id}`, terms),
            )
          }
        />
      )}
    </DialogButton>
  );
}

function ChangeButton({ tenant, done }: ActionProps & { readonly tenant: Tenant }): JSX.Element {
  const { id } = tenant;
  return (
    <DialogButton label="Change">
      {(close) => (
        <TenantDialog
          title={`Change ${id}`}
          submit="Store"
          terms={tenant}
          close={close}
          store={(_, terms) =>
            done(`The tenant ${id} is changed.`, () =>
              call('PUT', path`admin/tenants/${id}`, { body: terms }),
            )
          }
        />
      )}
    </DialogButton>
  );
}

function RemoveButton({
  id,
  hasKeys,
  done,
}: ActionProps & { readonly id: string; readonly hasKeys: boolean }): JSX.Element {
  const remove = (): Promise<boolean> =>
    done(`The tenant ${id} is removed.`, () => call('DELETE', path`admin/tenants/${id}`));
  return (
    <DialogButton label="Remove" isDanger isDisabled={hasKeys}>
      {(close) => (
        <Dialog title={`Remove ${id}`} submit="Remove" isDanger close={close} onSubmit={remove}>
          <p>
            Its tokens are refused within a second. Its data stay, for a tenant that is made with this id
            again.
          </p>
        </Dialog>
      )}
    </DialogButton>
  );
}
