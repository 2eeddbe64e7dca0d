import { displayName } from '../form/references.ts'
import { ResourceForm } from '../form/resource-form.tsx'
import { Card, LoadStatus, Notice, notify, Page, useApi } from '../kit/index.ts'
import type { Item, ResourcePages } from '../page-contracts.ts'
import { go } from '../route.ts'
import { useCanChangeAt } from '../session.ts'

/** Edits one resource. */
export function EditPage({ resource, id }: { resource: ResourcePages; id: string }) {
  const { singular, route, form } = resource
  const path = `${resource.path}/${encodeURIComponent(id)}`
  const load = useApi<Item>(path)
  const { value } = load
  const detail = `${route}/${id}`
  const mayChange = useCanChangeAt(resource.path, value)
  return (
    <Page title={`Edit ${singular}`} back={{ path: detail, title: value ? displayName(value) : singular }}>
      <LoadStatus load={load} />
      {value && !mayChange && <Notice>It belongs to another user. Only administrators can change it.</Notice>}
      {value && mayChange && (
        <Card>
          <ResourceForm<Item>
            {...form}
            method="PATCH"
            path={path}
            item={value}
            focusFirst
            verb="Save"
            onCancel={() => go(detail)}
            onDone={() => {
              notify('Saved.')
              go(detail, { replace: true })
            }}
          />
        </Card>
      )}
    </Page>
  )
}
