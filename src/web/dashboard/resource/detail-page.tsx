import { type ComponentType, lazy, Suspense, useState } from 'react'
import { displayName } from '../form/references.ts'
import {
  Button,
  ButtonLink,
  Card,
  CopyButton,
  DeleteItem,
  Loading,
  LoadStatus,
  Page,
  Time,
  useApi,
} from '../kit/index.ts'
import type { ExtraProps, Item, ResourcePages } from '../page-contracts.ts'
import { allows } from '../resources.ts'
import { useCanChangeAt } from '../session.ts'
import { extras } from './extras.ts'
import { ItemFacts } from './value-view.tsx'

const extraComponents = new Map<ResourcePages, readonly ComponentType<ExtraProps>[]>()

function extrasOf(resource: ResourcePages): readonly ComponentType<ExtraProps>[] {
  const components =
    extraComponents.get(resource) ?? (extras[resource.prefix] ?? []).map((load) => lazy(load))
  extraComponents.set(resource, components)
  return components
}

/** The fields and actions of one resource. */
export function DetailPage({ resource, id }: { resource: ResourcePages; id: string }) {
  const { singular, route, title, deleteWarning, deletion } = resource
  const path = `${resource.path}/${encodeURIComponent(id)}`
  const load = useApi<Item>(path)
  const { value: item, reload } = load
  const [confirming, setConfirming] = useState(false)
  const mayChange = useCanChangeAt(resource.path, item)
  const name = item ? displayName(item) : singular
  // The id is shown below the title.
  const heading = name === id ? singular.charAt(0).toUpperCase() + singular.slice(1) : name
  const description =
    item && typeof item.description === 'string' && item.description !== name && item.description
  return (
    <Page
      title={heading}
      back={{ path: route, title }}
      lead={description || undefined}
      actions={
        item &&
        mayChange && (
          <>
            {allows(resource, 'update') && (
              <ButtonLink to={`${route}/${id}/edit`} shortcut="e">
                Edit
              </ButtonLink>
            )}
            {allows(resource, 'delete') && (
              <Button kind="danger" onClick={() => setConfirming(true)}>
                {deletion?.verb ?? 'Delete'}
              </Button>
            )}
          </>
        )
      }
    >
      <LoadStatus load={load} />
      {item && (
        <>
          <Card>
            <p className="identity">
              <code>{item.id}</code>
              <CopyButton text={item.id} label="Copy ID" />
              {typeof item.created_at === 'string' && (
                <span>
                  created <Time value={item.created_at} />
                </span>
              )}
            </p>
            <ItemFacts item={item} without={resource.extraFields} />
          </Card>
          <Suspense fallback={<Loading />}>
            {extrasOf(resource).map((Extra, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the list of a resource never changes.
              <Extra key={index} item={item} reload={reload} />
            ))}
          </Suspense>
        </>
      )}
      {confirming && (
        <DeleteItem
          name={singular}
          path={path}
          back={route}
          verb={deletion?.verb}
          done={deletion?.done}
          onClose={() => setConfirming(false)}
        >
          <strong>{name}</strong> {deletion?.effect ?? 'will be permanently deleted'}. {deleteWarning}
        </DeleteItem>
      )}
    </Page>
  )
}
