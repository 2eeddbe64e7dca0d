import type { ReactNode } from 'react'
import { api } from '../api.ts'
import { go } from '../route.ts'
import { Button } from './button.tsx'
import { Confirm } from './dialog.tsx'
import { Equivalent } from './equivalent.tsx'
import { notify } from './toast.tsx'

/** The buttons beside the title of an item. */
export function ItemActions({ onEdit, onDelete }: { onEdit: () => void; onDelete: () => void }) {
  return (
    <>
      <Button data-key="e" onClick={onEdit}>
        Edit
      </Button>
      <Button kind="danger" onClick={onDelete}>
        Delete
      </Button>
    </>
  )
}

interface DeleteItemProps {
  name: string
  path: string
  /** The page to show afterwards. */
  back: string
  verb?: string | undefined
  /** The message afterwards. */
  done?: string | undefined
  onClose: () => void
  /** The consequences. */
  children: ReactNode
}

/** Asks, deletes the item, and shows the list it was in. */
export function DeleteItem({
  name,
  path,
  back,
  verb = 'Delete',
  done = 'Deleted.',
  onClose,
  children,
}: DeleteItemProps) {
  return (
    <Confirm
      title={`${verb} ${name}?`}
      verb={verb}
      onClose={onClose}
      onConfirm={async () => {
        await api.delete(path)
        notify(done)
        go(back, { replace: true })
      }}
    >
      <p>{children}</p>
      <Equivalent method="DELETE" path={path} />
    </Confirm>
  )
}
