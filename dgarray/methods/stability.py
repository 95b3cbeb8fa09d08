def stability_factor(dim, order, stepper):
    return 1.0 / (order+1)**2
