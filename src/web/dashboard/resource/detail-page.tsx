import { type ComponentType, lazy, Suspense, useState } from 'react'
import { api } from '../api.ts'
import { nameOf } from '../form/references.ts'
import {
  Button,
  ButtonLink,
  Card,
  Confirm,
  CopyButton,
  Equivalent,
  Failed,
  Loading,
  Page,
  say,
  Time,
  useApi,
} from '../kit/index.ts'
import type { ExtraProps, Item, ResourcePages } from '../resources.ts'
import { go } from '../route.ts'
import { useMayChangeAt } from '../session.ts'
import { ItemFacts } from './value-view.tsx'

const extras = new Map<ResourcePages, readonly ComponentType<ExtraProps>[]>()

function extrasOf(resource: ResourcePages): readonly ComponentType<ExtraProps>[] {
  const known = extras.get(resource) ?? (resource.extras ?? []).map((load) => lazy(load))
  extras.set(resource, known)
  return known
}

/** Everything about one, and what can be done with it. */
export function DetailPage({ resource, id }: { resource: ResourcePages; id: string }) {
  const { one, route, title, deleting } = resource
  const path = `${resource.path}/${encodeURIComponent(id)}`
  const { value: item, error, reload } = useApi<Item>(path)
  const [asking, setAsking] = useState(false)
  const mayChange = useMayChangeAt(resource.path, item)
  const name = item ? nameOf(item) : one
  const described =
    item && typeof item.description === 'string' && item.description !== name && item.description
  return (
    <Page
      title={name}
      back={{ path: route, title }}
      lead={described || undefined}
      actions={
        item &&
        mayChange && (
          <>
            <ButtonLink to={`${route}/${id}/edit`} shortcut="e">
              Edit
            </ButtonLink>
            <Button kind="danger" onClick={() => setAsking(true)}>
              Delete
            </Button>
          </>
        )
      }
    >
      {error && <Failed error={error} retry={reload} />}
      {!item && !error && <Loading />}
      {item && (
        <>
          <Card>
            <p className="identity">
              <code>{item.id}</code>
              <CopyButton text={item.id} label="Copy id" />
              {typeof item.created_at === 'string' && (
                <span>
                  created <Time at={item.created_at} />
                </span>
              )}
            </p>
            <ItemFacts item={item} without={resource.inExtras} />
          </Card>
          <Suspense fallback={<Loading />}>
            {extrasOf(resource).map((Extra, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the list of a resource never changes.
              <Extra key={index} item={item} reload={reload} />
            ))}
          </Suspense>
        </>
      )}
      {asking && (
        <Confirm
          title={`Delete ${one}?`}
          verb="Delete"
          onClose={() => setAsking(false)}
          onConfirm={async () => {
            await api.delete(path)
            say('Deleted.')
            go(route, { replace: true })
          }}
        >
          <p>
            <strong>{name}</strong> will be gone for good. {deleting}
          </p>
          <Equivalent method="DELETE" path={path} />
        </Confirm>
      )}
    </Page>
  )
}
