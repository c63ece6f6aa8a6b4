// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which processes have the wanted sockets open: a walk over the open files of all of them. */
#include "kernel.h"

#include <bpf/bpf_helpers.h>

#include "files_abi.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FILES_WANTED);
	__type(key, __u64); /* inode of the socket */
	__type(value, __u8);
} wanted SEC(".maps");

SEC("iter/task_file")
int holders(struct bpf_iter__task_file *ctx)
{
	struct files_holder found;
	struct file *file = ctx->file;
	struct task_struct *task = ctx->task;
	__u64 inode;

	if (!file || !task || !bpf_sock_from_file(file))
		return 0;
	inode = file->f_inode->i_ino;
	if (!bpf_map_lookup_elem(&wanted, &inode))
		return 0;
	found = (struct files_holder){.inode = inode, .pid = task->tgid, .fd = ctx->fd};
	bpf_seq_write(ctx->meta->seq, &found, sizeof(found));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
