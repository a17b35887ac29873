SELECT machine, env, MAX(kernel) AS kernel, MAX(build) AS build, MAX(preemption) AS preemption,
       MAX(command_line) AS command_line, MAX(processor) AS processor, MAX(microcode) AS microcode,
       MAX(board) AS board, MAX(firmware) AS firmware, MAX(governor) AS governor, MAX(isolation) AS isolation,
       MAX(virtual_machine) AS virtual_machine, MAX(jitterlab) AS jitterlab, MAX(load) AS load,
       MAX(labels) AS labels, MIN(first_s) AS first_s, MAX(last_s) AS last_s
FROM machines
GROUP BY machine, env
ORDER BY machine, env
