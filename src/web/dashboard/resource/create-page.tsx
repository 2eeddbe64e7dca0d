import { useState } from 'react'
import { ResourceForm } from '../form/resource-form.tsx'
import { ButtonLink, Card, notify, OneTimeSecret, Page } from '../kit/index.ts'
import type { Item, ResourcePages } from '../page-contracts.ts'
import { CommandLine } from '../pages/command-line.tsx'
import { go } from '../route.ts'

/** Creates a resource; a secret is displayed here once. */
export function CreatePage({ resource }: { resource: ResourcePages }) {
  const { title, singular, route, path, shownOnce, form } = resource
  const [created, setCreated] = useState<Item>()
  const back = { path: route, title }
  if (created && shownOnce)
    return (
      <Page title={`New ${singular}`} back={back}>
        <OneTimeSecret label={shownOnce.label} value={String(created[shownOnce.field])} />
        {shownOnce.command && (
          <>
            <p>Run this on the machine that will use it:</p>
            <CommandLine text={`${shownOnce.command} ${String(created[shownOnce.field])}`} />
          </>
        )}
        <div className="form-actions">
          <ButtonLink to={`${route}/${created.id}`} kind="main">
            Done
          </ButtonLink>
        </div>
      </Page>
    )
  return (
    <Page title={`New ${singular}`} back={back}>
      <Card>
        <ResourceForm<Item>
          {...form}
          method="POST"
          path={path}
          focusFirst
          verb={`Create ${singular}`}
          onCancel={() => go(route)}
          onDone={(item) => {
            if (shownOnce && typeof item[shownOnce.field] === 'string') return setCreated(item)
            notify('Created.')
            go(`${route}/${item.id}`, { replace: true })
          }}
        />
      </Card>
    </Page>
  )
}
