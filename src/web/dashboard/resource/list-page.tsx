import type { ListFacts } from '../../../dashboard/page-data.ts'
import { lowerFirst } from '../form/labels.ts'
import { ButtonLink, type Column, EmptyState, Page, useApi } from '../kit/index.ts'
import type { Item, ResourcePages } from '../page-contracts.ts'
import { allows, listKeyOf } from '../resources.ts'
import { useCanChangeAt } from '../session.ts'
import { ListBody, useSearchedList } from './searched-list.tsx'
import { Cell } from './value-view.tsx'

/** All resources of a kind, newest first. */
export function ListPage({ resource }: { resource: ResourcePages }) {
  const { title, singular, route, lead, emptyText, columns, hasFacts = false } = resource
  const list = useSearchedList(resource.path, listKeyOf(resource))
  const facts = useApi<ListFacts>(hasFacts ? `/dashboard/api/list_facts${resource.path}` : undefined)
  const mayChange = useCanChangeAt(resource.path)
  const create = mayChange && allows(resource, 'create') && (
    <ButtonLink to={`${route}/new`} kind="main" shortcut="n">
      New {singular}
    </ButtonLink>
  )
  const cells: Column<Item>[] = columns.map((column, index) => ({
    title: column.title,
    kind:
      column.format === 'time'
        ? 'fit'
        : column.format === 'count' || column.format === 'number'
          ? 'number'
          : 'text',
    render: (item) => (
      <Cell
        item={{ ...item, ...facts.value?.[item.id] }}
        column={column}
        {...(index === 0 && { href: `${route}/${item.id}` })}
      />
    ),
  }))
  return (
    <Page title={title} lead={lead} actions={!list.empty && create}>
      <ListBody
        list={list}
        title={title}
        columns={cells}
        empty={
          <EmptyState title={`No ${lowerFirst(title)} yet`} action={create}>
            {emptyText}
          </EmptyState>
        }
      />
    </Page>
  )
}
