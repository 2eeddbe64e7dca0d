import { useState } from 'react'
import { ResourceForm } from '../form/resource-form.tsx'
import { ButtonLink, Card, Page, ShownOnce, say } from '../kit/index.ts'
import type { Item, ResourcePages } from '../resources.ts'
import { go } from '../route.ts'

/** Makes a new one; a secret of it is shown here and nowhere else. */
export function CreatePage({ resource }: { resource: ResourcePages }) {
  const { title, one, route, path, shownOnce } = resource
  const [made, setMade] = useState<Item>()
  const back = { path: route, title }
  if (made && shownOnce)
    return (
      <Page title={`New ${one}`} back={back}>
        <ShownOnce label={shownOnce.label} value={String(made[shownOnce.field])} />
        <div className="form-actions">
          <ButtonLink to={`${route}/${made.id}`} kind="main">
            Done
          </ButtonLink>
        </div>
      </Page>
    )
  return (
    <Page title={`New ${one}`} back={back}>
      <Card>
        <ResourceForm<Item>
          method="POST"
          path={path}
          focusFirst
          verb={`Create ${one}`}
          onCancel={() => go(route)}
          onDone={(item) => {
            if (shownOnce && typeof item[shownOnce.field] === 'string') return setMade(item)
            say('Created.')
            go(`${route}/${item.id}`, { replace: true })
          }}
        />
      </Card>
    </Page>
  )
}
