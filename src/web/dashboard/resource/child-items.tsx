import { type ReactNode, useState } from 'react'
import { api } from '../api.ts'
import type { Values } from '../form/model.ts'
import { ResourceForm } from '../form/resource-form.tsx'
import {
  Button,
  Card,
  type Column,
  Confirm,
  Dialog,
  EmptyState,
  Equivalent,
  LoadError,
  Loading,
  notify,
  Table,
} from '../kit/index.ts'
import type { FormChanges } from '../page-contracts.ts'
import type { PagedList } from './use-list.ts'

interface ChildItemsProps<T extends { readonly id: string }> {
  title: string
  singular: string
  /** The path of the items in the API. */
  path: string
  list: PagedList<T>
  columns: readonly Column<T>[]
  nameOf: (item: T) => string
  /** The field that refers to the parent. */
  parent: Values
  form?: FormChanges | undefined
  mayChange: boolean
  notice?: ReactNode
  emptyText: string
  deleteWarning?: string
}

/** The items that belong to a resource, on its page: listed, and created, edited and deleted in dialogs. */
export function ChildItems<T extends { readonly id: string }>(props: ChildItemsProps<T>) {
  const { title, singular, path, list, nameOf, mayChange, notice, emptyText } = props
  const { items } = list
  const [edited, setEdited] = useState<T | 'new'>()
  const [deleted, setDeleted] = useState<T>()
  const add = mayChange && <Button onClick={() => setEdited('new')}>Add a {singular}</Button>
  const actions: Column<T> = {
    title: 'Actions',
    kind: 'fit',
    render: (item) => (
      <span className="row-actions">
        <Button kind="quiet" aria-label={`Edit ${nameOf(item)}`} onClick={() => setEdited(item)}>
          Edit
        </Button>
        <Button kind="quiet" aria-label={`Delete ${nameOf(item)}`} onClick={() => setDeleted(item)}>
          Delete
        </Button>
      </span>
    ),
  }
  const columns = mayChange ? [...props.columns, actions] : props.columns
  const done = (change: 'added' | 'saved' | 'deleted') => {
    setEdited(undefined)
    setDeleted(undefined)
    notify(`${singular.charAt(0).toUpperCase()}${singular.slice(1)} ${change}.`)
    list.reload()
  }
  return (
    <Card title={title} actions={items.length > 0 && add}>
      {notice}
      {list.error && <LoadError error={list.error} retry={list.reload} />}
      {list.loading && <Loading />}
      {items.length > 0 && <Table label={title} columns={columns} rows={items} keyOf={({ id }) => id} />}
      {list.more && !list.loading && (
        <footer className="table-foot">
          <Button onClick={list.loadMore}>Show older</Button>
        </footer>
      )}
      {items.length === 0 && !list.loading && !list.error && (
        <EmptyState title={`No ${title.toLowerCase()} yet`} action={add}>
          {emptyText}
        </EmptyState>
      )}
      {edited !== undefined && (
        <ItemDialog {...props} item={edited} onClose={() => setEdited(undefined)} onDone={done} />
      )}
      {deleted && (
        <Confirm
          title={`Delete ${singular}?`}
          verb="Delete"
          onClose={() => setDeleted(undefined)}
          onConfirm={async () => {
            await api.delete(`${path}/${deleted.id}`)
            done('deleted')
          }}
        >
          <p>
            The {singular} <code>{nameOf(deleted)}</code> will be permanently deleted. {props.deleteWarning}
          </p>
          <Equivalent method="DELETE" path={`${path}/${deleted.id}`} />
        </Confirm>
      )}
    </Card>
  )
}

/** The form of a new item, or of one that exists. */
function ItemDialog<T extends { readonly id: string }>({
  singular,
  path,
  parent,
  form,
  item,
  onClose,
  onDone,
}: ChildItemsProps<T> & {
  item: T | 'new'
  onClose: () => void
  onDone: (change: 'added' | 'saved') => void
}) {
  return (
    <Dialog title={item === 'new' ? `New ${singular}` : `Edit ${singular}`} onClose={onClose}>
      {item === 'new' ? (
        <ResourceForm
          {...form}
          method="POST"
          path={path}
          fixedValues={parent}
          verb={`Add ${singular}`}
          onCancel={onClose}
          onDone={() => onDone('added')}
        />
      ) : (
        <ResourceForm
          {...form}
          method="PATCH"
          path={`${path}/${item.id}`}
          item={item}
          verb="Save"
          onCancel={onClose}
          onDone={() => onDone('saved')}
        />
      )}
    </Dialog>
  )
}
