import { useState } from 'react'
import { ResourceForm } from '../form/resource-form.tsx'
import { ButtonLink, Card, notify, OneTimeSecret, Page } from '../kit/index.ts'
import type { Item, ResourcePages } from '../page-contracts.ts'
import { CommandLine } from '../pages/command-line.tsx'
import { joinCommand } from '../pages/install-commands.ts'
import { usePlatform } from '../pages/platform.ts'
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
          <AgentCommands command={shownOnce.command} authtoken={String(created[shownOnce.field])} />
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

/** Lines for the machine that will use an authtoken, with an agent there and without. */
function AgentCommands({ command, authtoken }: { command: string; authtoken: string }) {
  const platform = usePlatform()
  const join = platform && joinCommand(platform, authtoken)
  return (
    <>
      <p>Run this on the machine that will use it:</p>
      <CommandLine text={`${command} ${authtoken}`} />
      {join !== undefined && (
        <>
          <p>If there is no agent yet, this line installs one with this server and the authtoken:</p>
          <CommandLine text={join} />
        </>
      )}
    </>
  )
}
