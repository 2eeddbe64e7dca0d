import { nameOf } from '../form/references.ts'
import { ResourceForm } from '../form/resource-form.tsx'
import { Card, Failed, Loading, Page, say, useApi } from '../kit/index.ts'
import type { Item, ResourcePages } from '../resources.ts'
import { go } from '../route.ts'

/** Changes one. */
export function EditPage({ resource, id }: { resource: ResourcePages; id: string }) {
  const { one, route } = resource
  const path = `${resource.path}/${encodeURIComponent(id)}`
  const { value, error, reload } = useApi<Item>(path)
  const detail = `${route}/${id}`
  return (
    <Page title={`Edit ${one}`} back={{ path: detail, title: value ? nameOf(value) : one }}>
      {error && <Failed error={error} retry={reload} />}
      {!value && !error && <Loading />}
      {value && (
        <Card>
          <ResourceForm<Item>
            method="PATCH"
            path={path}
            item={value}
            focusFirst
            verb="Save"
            onCancel={() => go(detail)}
            onDone={() => {
              say('Saved.')
              go(detail, { replace: true })
            }}
          />
        </Card>
      )}
    </Page>
  )
}
