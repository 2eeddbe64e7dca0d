import { ButtonLink, type Column, Empty, Page } from '../kit/index.ts'
import type { Item, ResourcePages } from '../resources.ts'
import { useMayChangeAt } from '../session.ts'
import { ListBody, useSearchedList } from './searched-list.tsx'
import { Cell } from './value-view.tsx'

/** All resources of a kind, newest first. */
export function ListPage({ resource }: { resource: ResourcePages }) {
  const { title, one, route, lead, why, columns } = resource
  const list = useSearchedList<Item>(resource.path, resource.listKey)
  const mayChange = useMayChangeAt(resource.path)
  const create = mayChange && (
    <ButtonLink to={`${route}/new`} kind="main" shortcut="n">
      New {one}
    </ButtonLink>
  )
  const cells: Column<Item>[] = columns.map((column, index) => ({
    title: column.title,
    kind: column.as === 'time' ? 'fit' : column.as === 'count' ? 'number' : 'text',
    of: (item) => <Cell item={item} column={column} {...(index === 0 && { href: `${route}/${item.id}` })} />,
  }))
  return (
    <Page title={title} lead={lead} actions={!list.none && create}>
      <ListBody
        list={list}
        title={title}
        columns={cells}
        empty={
          <Empty title={`No ${one} yet`} action={create}>
            {why}
          </Empty>
        }
      />
    </Page>
  )
}
